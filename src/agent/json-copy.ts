import type { JsonValue } from "@bufbuild/protobuf";
import { membersOf } from "../core/members.js";
import { described } from "../core/options.js";
import { setOwn } from "../wire/json-value.js";

/** Levels of a value that is kept as JSON; a value that contains itself has more. */
const MAX_LEVELS = 100;

/**
 * Copies a value as JSON stores it: the copy equals the value that is read later. Undefined members are left out.
 *
 * @param what names the value in errors
 * @throws TypeError for a value that JSON would lose or change, such as a Date, a Map or NaN
 */
export function jsonCopy(what: string, value: unknown): JsonValue {
  const path: (string | number)[] = [];
  try {
    return copyOfValue(value, path);
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const place = path.map((name) => (typeof name === "number" ? `[${name}]` : `.${name}`)).join("");
    throw new TypeError(`${what} is kept as JSON, but ${place === "" ? "it" : place} ${error.message}.`);
  }
}

class NotJson extends Error {}

/** @param path of the value; of the faulty one after an error */
function copyOfValue(value: unknown, path: (string | number)[]): JsonValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new NotJson(`is ${value}`);
      // JSON has no negative zero.
      return value === 0 ? 0 : value;
    case "object":
      if (value === null) return null;
      if (path.length >= MAX_LEVELS) throw new NotJson(`is nested more than ${MAX_LEVELS} levels deep`);
      return Array.isArray(value) ? copyOfList(value, path) : objectOf(value, path);
    default:
      throw new NotJson(`is ${described(value)}`);
  }
}

function copyOfList(list: readonly unknown[], path: (string | number)[]): JsonValue[] {
  const copy: JsonValue[] = [];
  for (let index = 0; index < list.length; index++) {
    path.push(index);
    copy.push(copyOfValue(list[index], path));
    path.pop();
  }
  return copy;
}

function objectOf(object: object, path: (string | number)[]): JsonValue {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new NotJson(`is ${described(object)}`);
  }
  const copy: Record<string, JsonValue> = {};
  const members = membersOf(object);
  for (const name of Object.keys(members)) {
    const member = members[name];
    if (member === undefined) continue;
    path.push(name);
    setOwn(copy, name, copyOfValue(member, path));
    path.pop();
  }
  return copy;
}
