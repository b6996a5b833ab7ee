import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  type ListValue,
  ListValueSchema,
  NullValue,
  type Struct,
  StructSchema,
  type Value,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { defined, membersOf } from "../core/members.js";

/**
 * Conversions between JSON and `google.protobuf.Value`. The library's `create()`, `fromJson()` and `toJson()` look up
 * each field in its descriptor. They take several times as long, which blocks the event loop for values of tens of
 * thousands of members.
 */

/** Sets an own property of any name. Assigning to `__proto__` would set the prototype. */
export function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

/** Converts validated JSON to a Value. */
export function toValue(json: unknown): Value {
  return valueMessage(toKind(json));
}

/** Converts a validated JSON object to a Struct. */
export function toStruct(json: Record<string, unknown>): Struct {
  const fields: Struct["fields"] = {};
  for (const name of Object.keys(json)) setOwn(fields, name, toValue(json[name]));
  return structMessage(fields);
}

/** Converts a validated JSON array to a ListValue. */
export function toListValue(json: readonly unknown[]): ListValue {
  return listMessage(json.map(toValue));
}

export function valueMessage(kind: Value["kind"]): Value {
  return { $typeName: ValueSchema.typeName, kind };
}

export function structMessage(fields: Struct["fields"]): Struct {
  return { $typeName: StructSchema.typeName, fields };
}

export function listMessage(values: Value[]): ListValue {
  return { $typeName: ListValueSchema.typeName, values };
}

function toKind(json: unknown): Value["kind"] {
  switch (typeof json) {
    case "string":
      return { case: "stringValue", value: json };
    case "number":
      return { case: "numberValue", value: json };
    case "boolean":
      return { case: "boolValue", value: json };
    default:
      if (json === null) return { case: "nullValue", value: NullValue.NULL_VALUE };
      if (Array.isArray(json)) return { case: "listValue", value: toListValue(json) };
      return { case: "structValue", value: toStruct(membersOf(json)) };
  }
}

/** Returns the JSON of a Value; null for one without a kind. */
export function jsonOf({ kind }: Value): JsonValue {
  switch (kind.case) {
    case "structValue":
      return jsonOfStruct(kind.value);
    case "listValue":
      return kind.value.values.map(jsonOf);
    case "stringValue":
    case "numberValue":
    case "boolValue":
      return kind.value;
    default:
      return null;
  }
}

/** Returns the JSON of a Struct. */
export function jsonOfStruct({ fields }: Struct): JsonObject {
  const json: JsonObject = {};
  for (const name of Object.keys(fields)) setOwn(json, name, jsonOf(defined(fields[name])));
  return json;
}
