import { type DescField, type DescMessage, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import { membersOf } from "../core/members.js";
import { blankOf } from "./blank.js";
import { holdsJsonObject, isLeftToLibrary } from "./field-rules.js";
import type { Fields, JsonForm, MemberName, PutMember, Read, ReaderTools } from "./json-form.js";
import { type Leaf, leafOf, scalarLeaf, timestampLeaf } from "./json-leaf.js";
import { isJsonObject, readJsonObject, readListValue, readStruct, readValue } from "./json-struct.js";
import { setOwn } from "./json-value.js";
import { readRare } from "./library-json.js";
import { Violations } from "./violations.js";

const readers = new WeakMap<DescMessage, Read>();
const formReaders = new WeakMap<JsonForm, WeakMap<DescMessage, Read>>();

/**
 * Returns the ProtoJSON reader of a message type, compiled once from its descriptor. It takes the result of JSON.parse,
 * of which the message may keep parts, so the caller must not use it afterwards. Unknown members are ignored
 * (specification 5.7). Names may be lowerCamelCase or as in the proto. `null` means absent except for a
 * google.protobuf.Value.
 *
 * @param form an alternative to ProtoJSON; violations use its member names
 * @throws A2AError with reason INVALID_PARAMS that names every violation, up to 100, with its path
 */
export function jsonReader<Desc extends DescMessage>(
  desc: Desc,
  form?: JsonForm,
): (json: unknown) => MessageShape<Desc> {
  return throwingReader("request", desc, form);
}

/**
 * Returns a tolerant reader for answers of another program, which may use a newer contract or be less careful. Unknown
 * enum names become the unspecified value, and lone surrogates are kept. If a field is given under both names, the
 * lowerCamelCase one counts.
 *
 * @throws A2AError with reason INVALID_AGENT_RESPONSE that names every violation, up to 100, with its path
 */
export function answerReader<Desc extends DescMessage>(
  desc: Desc,
  form?: JsonForm,
): (json: unknown) => MessageShape<Desc> {
  return throwingReader("answer", desc, form);
}

function throwingReader<Desc extends DescMessage>(
  of: "request" | "answer",
  desc: Desc,
  form: JsonForm | undefined,
): (json: unknown) => MessageShape<Desc> {
  const read = collectingReader(desc, form);
  return (json) => {
    const at = new Violations(of);
    const message = read(json, at);
    at.throwIfAny();
    return message as MessageShape<Desc>;
  };
}

/**
 * Returns a reader that adds its violations to those collected from other parts of the input. With violations, the
 * returned message lacks the fields that they name.
 */
export function collectingReader<Desc extends DescMessage>(
  desc: Desc,
  form?: JsonForm,
): (json: unknown, at: Violations) => MessageShape<Desc> | undefined {
  return jsonReaderOf(desc, form) as (json: unknown, at: Violations) => MessageShape<Desc> | undefined;
}

function jsonReaderOf(desc: DescMessage, form: JsonForm | undefined): Read {
  const kept = form === undefined ? readers : readersOf(form);
  const known = kept.get(desc);
  if (known !== undefined) return known;
  const special = formReaderOf(desc, form, kept) ?? wellKnown(desc);
  if (special !== undefined) {
    kept.set(desc, special);
    return special;
  }
  const members = new Map<string, PutMember>();
  const blank = blankOf(desc);
  const read: Read = (json, at) => {
    if (!isJsonObject(json)) return at.add("must be an object");
    if (at.depth >= at.levels) return at.add("is nested too deep");
    const message = blank();
    at.depth++;
    for (const name of Object.keys(json)) members.get(name)?.(message, json[name], at, json);
    at.depth--;
    return message;
  };
  // Registered before its fields are compiled, because a message may contain its own type.
  kept.set(desc, read);
  for (const field of desc.fields) {
    const choices = field.oneof === undefined ? [] : field.oneof.fields.map((each) => each.jsonName);
    const member = putMember(field, { name: field.jsonName, choices }, fieldReader(field, form));
    members.set(field.name, unlessTwice(field, member));
    members.set(field.jsonName, member);
  }
  return read;
}

function readersOf(form: JsonForm): WeakMap<DescMessage, Read> {
  let kept = formReaders.get(form);
  if (kept === undefined) {
    kept = new WeakMap();
    formReaders.set(form, kept);
  }
  return kept;
}

/**
 * Returns the reader of a type with a table in the form. It is registered before it is compiled, because a message may
 * contain its own type.
 */
function formReaderOf(
  desc: DescMessage,
  form: JsonForm | undefined,
  kept: WeakMap<DescMessage, Read>,
): Read | undefined {
  if (form === undefined) return undefined;
  let read: Read | undefined;
  kept.set(desc, (json, at) => (read as Read)(json, at));
  const tools: ReaderTools = {
    value: (field) => fieldReader(field, form),
    list: listReader,
    member: putMember,
    blank: blankOf,
  };
  read = form.reader(desc, tools);
  if (read === undefined) kept.delete(desc);
  return read;
}

/** Reads a member by its name in the proto. Both names are the same member, which may be given only once. */
function unlessTwice(field: DescField, member: PutMember): PutMember {
  return (message, json, at, object) => {
    if (!Object.hasOwn(object, field.jsonName)) member(message, json, at, object);
    else if (!at.isTolerant) at.add(`is the same as ${field.jsonName}, of which there can be one`, field.name);
  };
}

function putMember(field: DescField, { name, choices }: MemberName, read: Read): PutMember {
  const { localName, oneof } = field;
  const takesNull = isNullable(field);
  if (oneof === undefined) {
    return (message, json, at) => {
      if (json === null && !takesNull) return;
      at.enter(name);
      const value = read(json, at);
      at.leave();
      if (value !== undefined) message[localName] = value;
    };
  }
  const choice = oneof.localName;
  const onlyOne = `cannot be set together with another one of ${choices.join(", ")}`;
  return (message, json, at) => {
    if (json === null && !takesNull) return;
    const isFirst = membersOf(message[choice]).case === undefined;
    // Writers that list all fields write null for the unset ones.
    if (!isFirst && json === null && at.isTolerant) return;
    at.enter(name);
    const value = read(json, at);
    if (!isFirst && !at.isTolerant) at.add(onlyOne);
    at.leave();
    if (value !== undefined) message[choice] = { case: localName, value };
  };
}

/** Returns true if `null` is a value of the field instead of its absence. */
function isNullable(field: DescField): boolean {
  if (field.fieldKind === "message") return field.message.typeName === "google.protobuf.Value";
  return field.fieldKind === "enum" && field.enum.typeName === "google.protobuf.NullValue";
}

function fieldReader(field: DescField, form: JsonForm | undefined): Read {
  const read = itemReader(field, form);
  if (field.fieldKind === "list") return listReader(read);
  return field.fieldKind === "map" ? mapReader(field.mapKey, read) : read;
}

/** Returns the reader of a singular field, of an item of a list or of a value of a map. */
function itemReader(field: DescField, form: JsonForm | undefined): Read {
  const leaf = form === undefined ? leafOf(field) : form.leaf(field);
  if (leaf !== undefined) return leafReader(leaf);
  if (holdsJsonObject(field)) return readJsonObject;
  return jsonReaderOf(field.message as DescMessage, form);
}

function leafReader(leaf: Leaf): Read {
  const { read, tolerate, expectation } = leaf;
  return (json, at) => read(json) ?? misfit(json, at, tolerate, expectation);
}

function misfit(json: unknown, at: Violations, tolerate: Leaf["tolerate"], expectation: string): unknown {
  return at.isTolerant && tolerate !== undefined && typeof json === "string" ? tolerate(json) : at.add(expectation);
}

function listReader(read: Read): Read {
  return (json, at) => {
    if (!Array.isArray(json)) return at.add("must be an array");
    const items: unknown[] = [];
    for (let i = 0; i < json.length; i++) {
      at.enter(i);
      items.push(read(json[i], at));
      at.leave();
    }
    return items;
  };
}

function mapReader(keyType: ScalarType, read: Read): Read {
  const keyOf = keyReader(keyType);
  return (json, at) => {
    if (!isJsonObject(json)) return at.add("must be an object");
    const map: Fields = {};
    for (const name of Object.keys(json)) {
      at.enter(name);
      const key = keyOf(name);
      if (key === undefined) at.add("is not a key of this map");
      else if (Object.hasOwn(map, key)) at.add("is a key that comes twice");
      else setOwn(map, key, read(json[name], at));
      at.leave();
    }
    return map;
  };
}

/** Returns the reader of a map's keys, which are property names even for numbers and booleans. */
function keyReader(type: ScalarType): (name: string) => string | undefined {
  if (type === ScalarType.BOOL) return (name) => (name === "true" || name === "false" ? name : undefined);
  const leaf = scalarLeaf(type);
  return (name) => {
    const key = leaf.read(name);
    return key === undefined ? undefined : `${key}`;
  };
}

/** Returns the reader of a type with a special JSON form, or undefined. */
function wellKnown(desc: DescMessage): Read | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return leafReader(timestampLeaf);
    case "google.protobuf.Struct":
      return readStruct;
    case "google.protobuf.Value":
      return readValue;
    case "google.protobuf.ListValue":
      return readListValue;
  }
  if (!isLeftToLibrary(desc)) return undefined;
  return (json, at) => {
    try {
      return readRare(desc, json);
    } catch {
      return at.add(`must be a ${desc.typeName} in its JSON form`);
    }
  };
}
