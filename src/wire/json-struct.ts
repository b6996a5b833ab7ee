import { create } from "@bufbuild/protobuf";
import { type ListValue, ListValueSchema, NullValue, type Struct, StructSchema, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Faults } from "./faults.js";
import { isUnicode } from "./json-leaf.js";

/**
 * How deep messages may nest, as protobuf counts them: each JSON object or list inside a Value takes two levels.
 * Binary readers stop at 100, and what is read here becomes part of larger messages on its way into the log and to
 * gRPC clients. With ten levels kept free for those, whatever is accepted can be carried everywhere.
 */
export const MAX_DEPTH = 90;

const tooDeep = "is nested too deep";
const notUnicode = "must consist of Unicode characters";

/** A JSON object, and neither null nor a list. */
export function isJsonObject(json: unknown): json is Record<string, unknown> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** Sets an own property whatever its name is: `__proto__` would set the prototype instead. */
export function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

/** A Struct that the message holds as the JSON object itself: only looked through, not copied. */
export function readJsonObject(json: unknown, at: Faults): unknown {
  if (!isJsonObject(json)) {
    at.add("must be an object");
    return undefined;
  }
  checkObject(json, at, at.depth + 1);
  return json;
}

function checkObject(json: Record<string, unknown>, at: Faults, depth: number): void {
  if (depth >= MAX_DEPTH) {
    at.add(tooDeep);
    return;
  }
  for (const name of Object.keys(json)) {
    if (!isUnicode(name)) at.add(`names ${notUnicode}`);
    checkValue(json[name], at, depth + 1, name);
  }
}

function checkValue(json: unknown, at: Faults, depth: number, step: string | number): void {
  switch (typeof json) {
    case "string":
      if (!isUnicode(json)) at.add(notUnicode, step);
      return;
    case "number":
      if (!Number.isFinite(json)) at.add("must be a finite number", step);
      return;
    case "boolean":
      return;
    case "object":
      if (json === null) return;
      at.enter(step);
      if (Array.isArray(json)) checkList(json, at, depth + 1);
      else checkObject(json as Record<string, unknown>, at, depth + 1);
      at.leave();
      return;
    default:
      at.add("must be a JSON value", step);
  }
}

function checkList(json: readonly unknown[], at: Faults, depth: number): void {
  if (depth >= MAX_DEPTH) at.add(tooDeep);
  else for (let i = 0; i < json.length; i++) checkValue(json[i], at, depth + 1, i);
}

/** Any JSON as google.protobuf.Value; `null` is its null value. */
export function readValue(json: unknown, at: Faults): Value | undefined {
  const depth = at.depth;
  ...
}
