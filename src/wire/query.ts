import { type DescField, type DescMessage, type Message, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Faults } from "./faults.js";
import { hasImplicitPresence, zeroTest } from "./field-rules.js";
import { type Leaf, leafOf } from "./json-leaf.js";
import { formatTimestamp } from "./json-time.js";

/** A message by property name. */
type Fields = Record<string, unknown>;

/** Puts the fields that a query string names into a message, and notes what is wrong with it. */
export type QueryReader = (query: string, message: Message, at: Faults) => void;

/** The query string with the fields of a message, without those that the path carries. */
export type QueryWriter<Desc extends DescMessage> = (message: MessageShape<Desc>, inPath: readonly DescField[]) => string;

/**
 * Reads values of a field (or of its items) from text, as queries and paths carry them (specification 11.5): strings as
 * they are, `true` and `false`, decimal numbers, enums by name or number, timestamps in ISO 8601. Undefined for fields of
 * other message types, which have no such form.
 */
export function textLeafOf(field: DescField): Leaf | undefined {
  const leaf = leafOf(field);
  if (leaf === undefined) return undefined;
  if (field.scalar === ScalarType.BOOL) return { ...leaf, read: (text) => leaf.read(text === "true" || (text === "false" ? false : text)) };
  if (field.enum === undefined) return leaf;
  return { ...leaf, read: (text) => leaf.read(/^-?\d{1,10}$/.test(text as string) ? Number(text) : text) };
}

/**
 * The reader of a request's query parameters. Names are lowerCamelCase or as in the proto; unknown ones are ignored,
 * among them service parameters. Lists come by repetition, by commas, or both; anything else comes once. Values are
 * percent-encoded UTF-8, and a plus sign is a space, as HTML forms and URLSearchParams write it: a plus is `%2B`.
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
      puts.get(field)?.(message as unknown as Fields, given, at);
      at.leave();
    }
  };
}

/** Puts what was given for a field into a message; the texts are still encoded. */
type Put = (message: Fields, given: readonly string[], at: Faults) => void;

function putter(field: DescField): Put {
  const leaf = field.fieldKind === "map" ? undefined : textLeafOf(field);
  if (leaf === undefined) return (_message, _given, at) => at.add("cannot be given in a query");
  if (field.fieldKind === "list") {
    return (message, given, at) => {
      const texts = given.flatMap((text) => (text === "" ? [] : text.split(",")));
      message[field.localName] = texts.map((text) => readText(leaf, text, at));
    };
  }
  return (message, given, at) => {
    if (given.length > 1) at.add("is given more than once");
    else setField(message, field, readText(leaf, given[0] ?? "", at));
  };
}

function readText(leaf: Leaf, encoded: string, at: Faults): unknown {
  const text = decode(encoded);
  const value = text === undefined ? undefined : leaf.read(text);
  if (value === undefined) at.add(text === undefined ? "must be percent-encoded UTF-8" : leaf.expectation);
  return value;
}

function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Sets a field of any kind; a value of undefined, which stands for one that is at fault, is left out. */
export function setField(message: Fields, field: DescField, value: unknown): void {
  if (value === undefined) return;
  if (field.oneof === undefined) message[field.localName] = value;
  else message[field.oneof.localName] = { case: field.localName, value };
}

/** The value of a field that is set, else undefined. */
export function getField(message: Fields, field: DescField): unknown {
  if (field.oneof !== undefined) {
    const chosen = message[field.oneof.localName] as { case?: string; value?: unknown };
    return chosen.case === field.localName ? chosen.value : undefined;
  }
  const value = message[field.localName];
  return hasImplicitPresence(field) && zeroTest(field)(value) ? undefined : value;
}

/** The writer that `queryReader` reads back. Fields of message types other than Timestamp are left out. */
export function queryWriter<Desc extends DescMessage>(desc: Desc): QueryWriter<Desc> {
  const writable = desc.fields.filter((field) => field.fieldKind !== "map" && textLeafOf(field) !== undefined);
  return (message, inPath) => {
    const pairs: string[] = [];
    for (const field of writable) {
      const value = inPath.includes(field) ? undefined : getField(message as unknown as Fields, field);
      if (value === undefined) continue;
      for (const item of Array.isArray(value) ? value : [value]) {
        pairs.push(`${field.jsonName}=${encodeURIComponent(textOf(field, item))}`);
      }
    }
    return pairs.join("&");
  };
}

function textOf(field: DescField, value: unknown): string {
  if (field.enum !== undefined) return field.enum.value[value as number]?.name ?? `${value}`;
  if (field.message?.typeName === "google.protobuf.Timestamp") return JSON.parse(formatTimestamp(value as Timestamp));
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : `${value}`;
}
