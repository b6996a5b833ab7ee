import type { ListValue, Struct, Value } from "@bufbuild/protobuf/wkt";
import { membersOf } from "../core/members.js";
import { isUnicode } from "./json-leaf.js";
import { toListValue, toStruct, toValue } from "./json-value.js";
import type { Violations } from "./violations.js";

/** Returns true for a JSON object, but not for null or an array. */
export function isJsonObject(json: unknown): json is Record<string, unknown> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** Reads a Struct for a field that holds the JSON object itself. The object is validated and not copied. */
export function readJsonObject(json: unknown, at: Violations): unknown {
  if (!isJsonObject(json)) return at.add("must be an object");
  return isSound(json, at) ? json : undefined;
}

/** Reads a google.protobuf.Struct as a message. */
export function readStruct(json: unknown, at: Violations): Struct | undefined {
  const object = readJsonObject(json, at);
  return object === undefined ? undefined : toStruct(membersOf(object));
}

/** Reads a google.protobuf.ListValue. */
export function readListValue(json: unknown, at: Violations): ListValue | undefined {
  if (!Array.isArray(json)) return at.add("must be an array");
  return isSound(json, at) ? toListValue(json) : undefined;
}

/** Reads a google.protobuf.Value: any JSON, where `null` is a value. */
export function readValue(json: unknown, at: Violations): Value | undefined {
  return isSound(json, at) ? toValue(json) : undefined;
}

function isSound(json: unknown, at: Violations): boolean {
  if (hasNoFault(json, at.levels - at.depth - 1)) return true;
  const before = at.count;
  check(json, at, at.depth + 1);
  return at.count === before;
}

/**
 * Returns true if a value is valid by the strictest rules. It tracks no path, which would take most of the time for a
 * large value.
 */
function hasNoFault(json: unknown, levels: number): boolean {
  switch (typeof json) {
    case "string":
      return isUnicode(json);
    case "number":
      return Number.isFinite(json);
    case "boolean":
      return true;
    case "object":
      return json === null || (levels > 1 && hasNoFaultInside(json, levels - 2));
    default:
      return false;
  }
}

function hasNoFaultInside(json: object, levels: number): boolean {
  if (Array.isArray(json)) {
    for (let i = 0; i < json.length; i++) if (!hasNoFault(json[i], levels)) return false;
    return true;
  }
  const members = membersOf(json);
  for (const name of Object.keys(members)) {
    if (!isUnicode(name) || !hasNoFault(members[name], levels)) return false;
  }
  return true;
}

function check(json: unknown, at: Violations, depth: number): void {
  switch (typeof json) {
    case "string":
      if (!isUnicode(json) && !at.isTolerant) at.add("must consist of Unicode characters");
      return;
    case "number":
      if (!Number.isFinite(json)) at.add("must be a finite number");
      return;
    case "boolean":
      return;
    case "object":
      if (json !== null) checkInside(json, at, depth + 1);
      return;
    default:
      at.add("must be a JSON value");
  }
}

function checkInside(json: object, at: Violations, depth: number): void {
  if (depth >= at.levels) {
    at.add("is nested too deep");
    return;
  }
  if (Array.isArray(json)) {
    for (let i = 0; i < json.length; i++) {
      at.enter(i);
      check(json[i], at, depth + 1);
      at.leave();
    }
    return;
  }
  const members = membersOf(json);
  for (const name of Object.keys(members)) {
    at.enter(name);
    if (!isUnicode(name) && !at.isTolerant) at.add("must have a name of Unicode characters");
    check(members[name], at, depth + 1);
    at.leave();
  }
}
