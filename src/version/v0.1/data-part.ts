import type { Value } from "@bufbuild/protobuf/wkt";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Fields } from "../../wire/json-form.js";
import { collectingReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { writeJsonValue } from "../../wire/json-text.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { Violations } from "../../wire/violations.js";
import { unwrapData } from "../v0.3/data-part.js";
import { COMPAT } from "../v0.3/values.js";

export { unwrapData };

const write = jsonWriter(ValueSchema);
const read = collectingReader(ValueSchema);

/** Whether data has to be wrapped: the text of 0.1 has objects and lists. */
function isWrapped({ kind }: Value): boolean {
  return kind.case !== "structValue" && kind.case !== "listValue";
}

/** JSON of the data of a part. */
export function writeData(value: unknown): string {
  const data = value as Value;
  return isWrapped(data) ? `{"value":${write(data)}}` : write(data);
}

/** JSON of the metadata of a part with data. */
export function writeDataMetadata(value: unknown, message: Fields): string | undefined {
  const { value: data } = message.content as { value?: Value };
  if (data === undefined || !isWrapped(data)) return value === undefined ? undefined : writeJsonValue(value);
  return writeJsonValue({ ...(value as object | undefined), [COMPAT]: true });
}

/** Data of a part. Only an object or a list may be in a request. */
export function readData(json: unknown, at: Violations): Value | undefined {
  if (!at.isTolerant && !isJsonObject(json) && !Array.isArray(json)) return at.add("must be an object or a list");
  return read(json, at);
}
