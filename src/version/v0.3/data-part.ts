import { create } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Fields } from "../../wire/json-form.js";
import { collectingReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { writeJsonValue } from "../../wire/json-text.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { Violations } from "../../wire/violations.js";
import { COMPAT } from "./values.js";

const write = jsonWriter(ValueSchema);
const read = collectingReader(ValueSchema);

/** Whether data has to be wrapped. */
export function isWrapped(data: Value): boolean {
  return data.kind.case !== "structValue";
}

/** JSON of the data of a part. */
export function writeData(value: unknown): string {
  const data = value as Value;
  return isWrapped(data) ? `{"value":${write(data)}}` : write(data);
}

/** JSON of the metadata of a part with data. */
export function writeDataMetadata(value: unknown, message: Fields): string | undefined {
  const { value: data } = message.content as { value?: Value };
  const isFlagged = data !== undefined && isWrapped(data);
  if (!isFlagged) return value === undefined ? undefined : writeJsonValue(value);
  return writeJsonValue({ ...(value as object | undefined), [COMPAT]: true });
}

/** Data of a part. Only an object may be in a request. */
export function readData(json: unknown, at: Violations): Value | undefined {
  if (!at.isTolerant && !isJsonObject(json)) return at.add("must be an object");
  return read(json, at);
}

/** Takes a value out of its object, and the flag out of the metadata that says so. Other objects with a `value` stay what they are. */
export function unwrapData(message: Fields): void {
  const { metadata, content } = message as { metadata?: Record<string, unknown>; content: { value?: Value } };
  if (metadata?.[COMPAT] !== true || content.value?.kind.case !== "structValue") return;
  const { fields } = content.value.kind.value;
  if (fields.value === undefined || Object.keys(fields).length !== 1) return;
  const { [COMPAT]: _, ...others } = metadata;
  message.metadata = Object.keys(others).length > 0 ? others : undefined;
  message.content = { case: "data", value: create(ValueSchema, fields.value) };
}
