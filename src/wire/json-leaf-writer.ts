import { type DescEnum, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import type { ListValue, Struct, Timestamp, Value } from "@bufbuild/protobuf/wkt";
import { base64Of } from "../core/bytes.js";
import { isLeftToLibrary } from "./field-rules.js";
import type { Write } from "./json-form.js";
import { finite, formatTimestamp, onOneLine, quote, unwritable, writeJsonValue } from "./json-text.js";
import { writeRare } from "./library-json.js";
import { WRITTEN_JSON_LEVELS } from "./nesting.js";

/** Returns a member's name with its colon, for the first and for a later member of an object. */
export function memberPrefix(name: string): { readonly first: string; readonly later: string } {
  return { first: `${quote(name)}:`, later: `,${quote(name)}:` };
}

/** Returns the writer of an enum, by its names. */
export function enumWriter(desc: DescEnum): Write {
  if (desc.typeName === "google.protobuf.NullValue") return () => "null";
  const names = new Map<unknown, string>(desc.values.map(({ number, name }) => [number, quote(name)]));
  // A number that the contract does not know yet stays a number, as ProtoJSON has it for open enums.
  return (value) => names.get(value) ?? `${expect("number", value)}`;
}

/** Returns the writer of a scalar type. */
export function scalarWriter(type: ScalarType): Write {
  switch (type) {
    case ScalarType.STRING:
      return (value) => quote(expect("string", value));
    case ScalarType.BOOL:
      return (value) => (expect("boolean", value) ? "true" : "false");
    case ScalarType.BYTES:
      return writeBytes;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value) => (Number.isFinite(value) ? `${value}` : `"${expect("number", value)}"`);
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return (value) => `"${typeof value === "string" ? BigInt(value) : expect("bigint", value)}"`;
    default:
      return (value) => finite(expect("number", value));
  }
}

/** @throws A2AError with reason INTERNAL for a value of another type */
export function expect(type: "string", value: unknown): string;
export function expect(type: "number", value: unknown): number;
export function expect(type: "boolean", value: unknown): boolean;
export function expect(type: "bigint", value: unknown): bigint;
export function expect(type: "string" | "number" | "boolean" | "bigint", value: unknown): unknown {
  if (typeof value !== type) throw unwritable(`a ${typeof value} where a ${type} belongs`);
  return value;
}

function writeBytes(value: unknown): string {
  if (!(value instanceof Uint8Array)) throw unwritable(`a ${typeof value} where bytes belong`);
  return `"${base64Of(value)}"`;
}

/** Writes a Struct that a message holds as a plain object. */
export function structWriter(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unwritable("a Struct that is not an object");
  return writeJsonValue(value);
}

/** Returns the writer of a type with a special JSON form, or undefined. */
export function wellKnown(desc: DescMessage): Write | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return (value) => formatTimestamp(value as Timestamp);
    case "google.protobuf.Struct":
      return (value) => writeStruct(value as Struct, 0);
    case "google.protobuf.Value":
      return (value) => writeValue(value as Value, 0);
    case "google.protobuf.ListValue":
      return (value) => writeListValue(value as ListValue, 0);
  }
  return isLeftToLibrary(desc) ? (value) => onOneLine(JSON.stringify(writeRare(desc, value as Message))) : undefined;
}

function writeValue({ kind }: Value, depth: number): string {
  switch (kind.case) {
    case "nullValue":
      return "null";
    case "numberValue":
      return finite(kind.value);
    case "boolValue":
      return kind.value ? "true" : "false";
    case "stringValue":
      return quote(kind.value);
    case "structValue":
      return writeStruct(kind.value, depth + 1);
    case "listValue":
      return writeListValue(kind.value, depth + 1);
    default:
      throw unwritable("a Value without a value");
  }
}

function writeStruct(struct: Struct, depth: number): string {
  if (depth > WRITTEN_JSON_LEVELS) throw unwritable(`nesting deeper than ${WRITTEN_JSON_LEVELS}`);
  let out = "";
  for (const [name, value] of Object.entries(struct.fields)) {
    out += `${out === "" ? "" : ","}${quote(name)}:${writeValue(value, depth)}`;
  }
  return `{${out}}`;
}

function writeListValue(list: ListValue, depth: number): string {
  if (depth > WRITTEN_JSON_LEVELS) throw unwritable(`nesting deeper than ${WRITTEN_JSON_LEVELS}`);
  let out = "";
  for (const value of list.values) out += `${out === "" ? "" : ","}${writeValue(value, depth)}`;
  return `[${out}]`;
}
