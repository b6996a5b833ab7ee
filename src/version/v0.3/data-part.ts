import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { membersOf } from "../../core/members.js";
import { expectMessage } from "../../wire/expect-message.js";
import type { Fields } from "../../wire/json-form.js";
import { collectingReader } from "../../wire/json-reader.js";
import { isJsonObject, readValue } from "../../wire/json-struct.js";
import { writeJsonValue } from "../../wire/json-text.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { Violations } from "../../wire/violations.js";
import type { FieldForm } from "../forms/tables.js";

/** Part metadata that marks data wrapped in an object, by a convention of existing bridges. */
export const COMPAT = "data_part_compat";

const write = jsonWriter(ValueSchema);
const read = collectingReader(ValueSchema);

/** The data that a version can express. */
interface OwnData {
  /** The kinds of a Value that the version has. Others are wrapped in an object. */
  readonly kinds: ReadonlySet<Value["kind"]["case"]>;
  /** Returns true for JSON that the version allows in requests. */
  readonly fits: (json: unknown) => boolean;
  /** The expected type: `must be an object`. */
  readonly expectation: string;
}

/** Readers and writers of a part's data and its metadata. */
export interface DataForm {
  readonly writeData: (value: unknown) => string;
  readonly writeMetadata: (value: unknown, message: Fields) => string | undefined;
  readonly readData: (json: unknown, at: Violations) => Value | undefined;
  /** The two members. */
  readonly members: readonly FieldForm[];
}

/** Returns the form of data. Data of a kind that the version lacks is wrapped in a marked object. */
export function dataForm({ kinds, fits, expectation }: OwnData): DataForm {
  const isWrapped = ({ kind }: Value): boolean => !kinds.has(kind.case);
  const writeData = (value: unknown): string => {
    const data = expectMessage(ValueSchema, value);
    return isWrapped(data) ? `{"value":${write(data)}}` : write(data);
  };
  const writeMetadata = (value: unknown, message: Fields): string | undefined => {
    const { value: data } = message.content as { value?: Value };
    if (data === undefined || !isWrapped(data)) return value === undefined ? undefined : writeJsonValue(value);
    return writeJsonValue({ ...membersOf(value), [COMPAT]: true });
  };
  const readData = (json: unknown, at: Violations): Value | undefined =>
    !at.isTolerant && !fits(json) ? at.add(expectation) : read(json, at);
  const members: readonly FieldForm[] = [
    { field: "data", isRequired: true, write: writeData, read: readData },
    { field: "metadata", isAlways: true, write: writeMetadata },
  ];
  return { writeData, writeMetadata, readData, members };
}

/** Data of 0.3, which has only objects. */
export const objectData: DataForm = dataForm({
  kinds: new Set(["structValue"]),
  fits: isJsonObject,
  expectation: "must be an object",
});

/**
 * Unwraps a value from its object, and removes the flag from the metadata. Other objects with a `value` are not
 * changed.
 */
export function unwrapData(message: Fields): void {
  const { metadata, content } = message as { metadata?: Record<string, unknown>; content: { value?: Value } };
  if (metadata?.[COMPAT] !== true || content.value?.kind.case !== "structValue") return;
  const { fields } = content.value.kind.value;
  if (fields.value === undefined || Object.keys(fields).length !== 1) return;
  const { [COMPAT]: _, ...others } = metadata;
  message.metadata = Object.keys(others).length > 0 ? others : undefined;
  message.content = { case: "data", value: create(ValueSchema, fields.value) };
}

/** Converts JSON to a value; undefined if it is not representable, such as a number that is not finite. */
export function valueFrom(json: JsonValue): Value | undefined {
  // Tolerant: the validation of the whole request finds invalid values.
  return readValue(json, new Violations("answer"));
}

/** Data of a part and its metadata in the form of 0.3. */
interface ObjectData {
  readonly data: JsonObject;
  readonly metadata: JsonObject | undefined;
}

/** Converts data to an object, the only kind of data in 0.3. `unwrapData` reverses it. */
export function asObject(json: JsonValue, metadata: JsonObject | undefined): ObjectData {
  if (isJsonObject(json)) return { data: json as JsonObject, metadata };
  return { data: { value: json }, metadata: { ...metadata, [COMPAT]: true } };
}
