import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import type { ListValue, Struct, Timestamp, Value } from "@bufbuild/protobuf/wkt";
import { base64Of } from "../core/bytes.js";
import { WRITTEN_JSON_LEVELS } from "../core/nesting.js";
import {
  hasImplicitPresence,
  holdsJsonObject,
  isLeftToLibrary,
  isRequired,
  unwrapped,
  zeroTest,
} from "./field-rules.js";
import { finite, onOneLine, quote, unwritable, writeJsonValue } from "./json-text.js";
import { formatTimestamp } from "./json-time.js";
import { writeRare } from "./library-json.js";
import { sharedItem } from "./serialization-cache.js";

/** A message as its writer sees it: by property name. */
type Fields = Record<string, unknown>;

/** Writes one value. */
type Write = (value: unknown) => string;

/** Appends one member to an object begun with `{`, or nothing when its field is left out. */
type Member = (message: Fields, out: string) => string;

/** Longer ids are not kept, in characters. */
const MAX_KEPT_ID = 80;

const writers = new WeakMap<DescMessage, Write>();

/** One member of a type's JSON: what it stands for, and how it is appended to an object begun with `{`. */
export interface JsonMember {
  readonly of: DescField | DescOneof;
  readonly write: (message: Message, out: string) => string;
}

const memberLists = new WeakMap<DescMessage, readonly JsonMember[]>();

/** The members of a type in their order, for whoever writes a message in parts; undefined for a well-known type. */
export function jsonMembers(desc: DescMessage): readonly JsonMember[] | undefined {
  if (wellKnown(desc) !== undefined) return undefined;
  let list = memberLists.get(desc);
  if (list === undefined) {
    list = desc.members.map((of) => {
      const member = memberOf(of);
      return { of, write: (message, out) => member(message as unknown as Fields, out) };
    });
    memberLists.set(desc, list);
  }
  return list;
}

function memberOf(member: DescField | DescOneof): Member {
  return member.kind === "oneof" ? oneofMember(member) : fieldMember(member);
}

/**
 * The ProtoJSON writer of a message type, compiled once from its descriptor and kept. It makes the text itself,
 * without an object in between. REQUIRED fields are written even at their default, other fields without presence are
 * left out then (specification 5.7); names are lowerCamelCase (5.5), timestamps have three fraction digits (5.6.1).
 * It is one line for every reader (`quote`), as events of a stream have to be.
 *
 * @throws A2AError with reason INTERNAL for what has no JSON form: NaN or an infinity in a Value, a Timestamp out
 * of range, a value of the wrong type, nesting beyond 100.
 */
export function jsonWriter<Desc extends DescMessage>(desc: Desc): (message: MessageShape<Desc>) => string {
  return writerOf(desc) as (message: MessageShape<Desc>) => string;
}

function writerOf(desc: DescMessage): Write {
  const known = writers.get(desc);
  if (known !== undefined) return known;
  const special = wellKnown(desc);
  if (special !== undefined) {
    writers.set(desc, special);
    return special;
  }
  const members: Member[] = [];
  const write: Write = (message) => {
    let out = "{";
    for (let i = 0; i < members.length; i++) out = (members[i] as Member)(message as Fields, out);
    return `${out}}`;
  };
  // Known before its fields are compiled, so that a message may contain its own kind.
  writers.set(desc, write);
  for (const member of desc.members) members.push(memberOf(member));
  return write;
}

function oneofMember(oneof: DescOneof): Member {
  const name = oneof.localName;
  const cases = new Map<unknown, { first: string; later: string; write: Write }>();
  for (const field of oneof.fields) cases.set(field.localName, { ...keyOf(field), write: valueWriter(field) });
  return (message, out) => {
    const chosen = message[name] as { case?: string; value?: unknown };
    const entry = cases.get(chosen.case);
    if (entry === undefined) return out;
    return out + (out === "{" ? entry.first : entry.later) + entry.write(chosen.value);
  };
}

function fieldMember(field: DescField): Member {
  const name = field.localName;
  const { first, later } = keyOf(field);
  const write = isId(field) ? idWriter() : valueWriter(field);
  if (!hasImplicitPresence(field)) {
    return (message, out) => {
      const value = message[name];
      return value === undefined ? out : out + (out === "{" ? first : later) + write(value);
    };
  }
  if (isRequired(field)) return (message, out) => out + (out === "{" ? first : later) + write(message[name]);
  const isZero = zeroTest(field);
  return (message, out) => {
    const value = message[name];
    return isZero(value) ? out : out + (out === "{" ? first : later) + write(value);
  };
}

/** Whether a field names something, so that the same value comes again in one message after the other. */
function isId(field: DescField): boolean {
  return field.fieldKind === "scalar" && field.scalar === ScalarType.STRING && /(^|_)id$/.test(field.name);
}

/** Keeps the text of the last short id: all events of a stream carry the same ones. */
function idWriter(): Write {
  let last: unknown = "";
  let text = '""';
  return (value) => {
    if (value === last) return text;
    const written = quote(expect("string", value) as string);
    if (written.length > MAX_KEPT_ID) return written;
    last = value;
    text = written;
    return text;
  };
}

/** The member's name with its colon, as first member and behind another one. */
function keyOf(field: DescField): { first: string; later: string } {
  return { first: `${quote(field.jsonName)}:`, later: `,${quote(field.jsonName)}:` };
}

function valueWriter(field: DescField): Write {
  if (field.fieldKind === "list") {
    const write = itemWriter(field);
    return listWriter(field.message === undefined ? write : (item) => sharedItem(item as Message, write));
  }
  if (field.fieldKind === "map") return mapWriter(itemWriter(field));
  return itemWriter(field);
}

/** Writer of a singular field, of an item of a list or of a value of a map. */
function itemWriter(field: DescField): Write {
  if (field.enum !== undefined) return enumWriter(field.enum);
  if (field.message === undefined) return scalarWriter(field.scalar);
  if (holdsJsonObject(field)) return structWriter;
  const scalar = unwrapped(field);
  if (scalar !== undefined) return scalarWriter(scalar);
  // Asked for when it is needed: the type may be the one whose fields are being compiled.
  const desc = field.message;
  let write: Write | undefined;
  return (value) => {
    write ??= writerOf(desc);
    return write(value);
  };
}

function listWriter(write: Write): Write {
  return (value) => {
    const items = value as readonly unknown[];
    let out = "[";
    for (let i = 0; i < items.length; i++) out += i === 0 ? write(items[i]) : `,${write(items[i])}`;
    return `${out}]`;
  };
}

function mapWriter(write: Write): Write {
  return (value) => {
    let out = "";
    for (const [key, item] of Object.entries(value as Fields)) {
      out += `${out === "" ? "" : ","}${quote(key)}:${write(item)}`;
    }
    return `{${out}}`;
  };
}

function enumWriter(desc: DescEnum): Write {
  if (desc.typeName === "google.protobuf.NullValue") return () => "null";
  const names = new Map<unknown, string>(desc.values.map((value) => [value.number, quote(value.name)]));
  // A number that the contract does not know yet stays a number, as ProtoJSON has it for open enums.
  return (value) => names.get(value) ?? `${expect("number", value)}`;
}

function scalarWriter(type: ScalarType): Write {
  switch (type) {
    case ScalarType.STRING:
      return (value) => quote(expect("string", value) as string);
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
      return (value) => finite(expect("number", value) as number);
  }
}

function expect(type: "string" | "number" | "boolean" | "bigint", value: unknown): unknown {
  if (typeof value !== type) throw unwritable(`a ${typeof value} where a ${type} belongs`);
  return value;
}

function writeBytes(value: unknown): string {
  if (!(value instanceof Uint8Array)) throw unwritable(`a ${typeof value} where bytes belong`);
  return `"${base64Of(value)}"`;
}

function structWriter(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unwritable("a Struct that is no object");
  return writeJsonValue(value);
}

/** Writers of the types with a JSON form of their own, or undefined. */
function wellKnown(desc: DescMessage): Write | undefined {
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
  for (const name of Object.keys(struct.fields)) {
    out += `${out === "" ? "" : ","}${quote(name)}:${writeValue(struct.fields[name] as Value, depth)}`;
  }
  return `{${out}}`;
}

function writeListValue(list: ListValue, depth: number): string {
  if (depth > WRITTEN_JSON_LEVELS) throw unwritable(`nesting deeper than ${WRITTEN_JSON_LEVELS}`);
  let out = "";
  for (const value of list.values) out += `${out === "" ? "" : ","}${writeValue(value, depth)}`;
  return `[${out}]`;
}
