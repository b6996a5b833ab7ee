import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { isJsonObject, readValue } from "../../wire/json-struct.js";
import { Violations } from "../../wire/violations.js";

/** Part metadata that marks data wrapped in an object, by a convention of existing bridges. */
export const COMPAT = "data_part_compat";

/** Converts JSON to a value; undefined if it is not representable, such as a number that is not finite. */
export function valueFrom(json: JsonValue): Value | undefined {
  // Tolerant: the validation of the whole request finds invalid values.
  return readValue(json, new Violations("answer"));
}

/** Data of a part and its metadata in the form of 0.3. */
export interface ObjectData {
  readonly data: JsonObject;
  readonly metadata: JsonObject | undefined;
}

/** Converts data to an object, the only kind of data in 0.3. */
export function asObject(json: JsonValue, metadata: JsonObject | undefined): ObjectData {
  if (isJsonObject(json)) return { data: json as JsonObject, metadata };
  return { data: { value: json }, metadata: { ...metadata, [COMPAT]: true } };
}

/** Reverses `asObject`. Only a marked value is unwrapped. */
export function fromObject({ data, metadata }: ObjectData): { data: JsonValue; metadata: JsonObject | undefined } {
  const { value, ...others } = data;
  if (metadata?.[COMPAT] !== true || value === undefined || Object.keys(others).length > 0) return { data, metadata };
  const { [COMPAT]: _, ...rest } = metadata;
  return { data: value, metadata: Object.keys(rest).length === 0 ? undefined : rest };
}
