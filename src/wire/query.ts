import { type DescField, type DescMessage, type Message, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { base64Of } from "../core/bytes.js";
import { accessTo } from "./field-rules.js";
import { type Leaf, leafOf } from "./json-leaf.js";
import { formatTimestamp } from "./json-text.js";
import type { Violations } from "./violations.js";

/** Stores the fields of a query string in a message, and adds violations for invalid ones. */
type QueryReader = (query: string, message: Message, at: Violations) => void;

/** Returns the query string for the fields of a message, except those in the path. */
type QueryWriter<Desc extends DescMessage> = (message: MessageShape<Desc>, inPath: readonly DescField[]) => string;

const booleans = new Map<unknown, boolean>([
  ["true", true],
  ["false", false],
]);

/**
 * Returns the reader of a field's value (or items) from text in queries and paths (specification 11.5): strings, `true`
 * and `false`, decimal numbers, enums by name or number, timestamps in ISO 8601. Undefined for fields of other message
 * types, which have no such form.
 */
export function textLeafOf(field: DescField): Leaf | undefined {
  const leaf = leafOf(field);
  if (leaf === undefined) return undefined;
  if (field.scalar === ScalarType.BOOL) return { ...leaf, read: (text) => booleans.get(text) };
  if (field.enum === undefined) return leaf;
  return {
    ...leaf,
    read: (text) => leaf.read(typeof text === "string" && /^-?\d{1,10}$/.test(text) ? Number(text) : text),
  };
}

/**
 * Returns the reader of a request's query parameters. Names are lowerCamelCase or as in the proto; unknown ones are
 * ignored, among them service parameters. Lists are given by repetition, by commas, or both; any other field only once.
 * Values are percent-encoded UTF-8. A plus sign is a space, as HTML forms and URLSearchParams write it; a plus is
 * `%2B`.
 */
export function queryReader(desc: DescMessage): QueryReader {
  const fields = new Map<string, DescField>();
  for (const field of desc.fields) fields.set(field.name, field);
  for (const field of desc.fields) fields.set(field.jsonName, field);
  const puts = new Map(desc.fields.map((field) => [field, putter(field)]));
  return (query, message, at) => {
    if (query === "") return;
    const texts = new Map<DescField, string[]>();
    for (const pair of query.split("&")) {
      const equals = pair.indexOf("=");
      const field = fields.get(equals < 0 ? pair : pair.slice(0, equals));
      if (field === undefined) continue;
      const given = texts.get(field) ?? [];
      given.push(equals < 0 ? "" : pair.slice(equals + 1));
      texts.set(field, given);
    }
    for (const [field, given] of texts) {
      at.enter(field.jsonName);
      puts.get(field)?.(message, given, at);
      at.leave();
    }
  };
}

/** Stores the given values of a field in a message. The texts are still percent-encoded. */
type Put = (message: Message, given: readonly string[], at: Violations) => void;

function putter(field: DescField): Put {
  const leaf = field.fieldKind === "map" ? undefined : textLeafOf(field);
  if (leaf === undefined) return (_message, _given, at) => at.add("cannot be given in a query");
  const { set } = accessTo(field);
  if (field.fieldKind === "list") {
    return (message, given, at) => {
      const texts = given.flatMap((text) => (text === "" ? [] : text.split(",")));
      set(
        message,
        texts.map((text) => readText(leaf, text, at)),
      );
    };
  }
  return (message, given, at) => {
    const value = given.length > 1 ? at.add("is given more than once") : readText(leaf, given[0] ?? "", at);
    if (value !== undefined) set(message, value);
  };
}

function readText(leaf: Leaf, encoded: string, at: Violations): unknown {
  const text = decode(encoded);
  if (text === undefined) return at.add("must be percent-encoded UTF-8");
  return leaf.read(text) ?? at.add(leaf.expectation);
}

function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Returns the writer of queries for `queryReader`. Fields of message types other than Timestamp are left out. */
export function queryWriter<Desc extends DescMessage>(desc: Desc): QueryWriter<Desc> {
  const writable = desc.fields
    .filter((field) => field.fieldKind !== "map" && textLeafOf(field) !== undefined)
    .map((field) => ({ field, get: accessTo(field).get }));
  return (message, inPath) => {
    const pairs: string[] = [];
    for (const { field, get } of writable) {
      const value = inPath.includes(field) ? undefined : get(message);
      if (value === undefined) continue;
      for (const item of Array.isArray(value) ? value : [value]) {
        pairs.push(`${field.jsonName}=${encodeURIComponent(queryValue(field, item))}`);
      }
    }
    return pairs.join("&");
  };
}

function queryValue(field: DescField, value: unknown): string {
  if (field.enum !== undefined) return field.enum.value[value as number]?.name ?? `${value}`;
  if (field.message?.typeName === "google.protobuf.Timestamp") return JSON.parse(formatTimestamp(value as Timestamp));
  return value instanceof Uint8Array ? base64Of(value) : `${value}`;
}
