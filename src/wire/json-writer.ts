import {
  type DescField,
  type DescMessage,
  type DescOneof,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { membersOf } from "../core/members.js";
import {
  choiceIn,
  hasImplicitPresence,
  holdsJsonObject,
  isAlwaysWritten,
  listIn,
  unwrapped,
  zeroTest,
} from "./field-rules.js";
import type { FormWriter, JsonField, JsonForm, JsonLayout, Member, Write, WriterTools } from "./json-form.js";
import { enumWriter, expect, memberPrefix, scalarWriter, structWriter, wellKnown } from "./json-leaf-writer.js";
import { quote } from "./json-text.js";
import { sharedFormItem, sharedItem } from "./serialization-cache.js";

/** Maximum length of an id whose text is cached, in characters. */
const MAX_KEPT_ID = 80;

const writers = new WeakMap<DescMessage, Write>();
const layouts = new WeakMap<DescMessage, JsonLayout>();

/** The compiled parts of a form. */
interface Compiled {
  readonly writers: WeakMap<DescMessage, Write>;
  readonly layouts: WeakMap<DescMessage, JsonLayout>;
  readonly types: Map<DescMessage, FormWriter | undefined>;
  readonly tools: WriterTools;
}

const compiledForms = new WeakMap<JsonForm, Compiled>();

/** Returns the structure of a message for writing it in parts. Undefined if it is written at once. */
export function jsonLayout(desc: DescMessage, message: Message, form?: JsonForm): JsonLayout | undefined {
  const own = form === undefined ? undefined : formWriterOf(desc, form);
  if (own !== undefined) return own.layout(membersOf(message));
  if (wellKnown(desc) !== undefined) return undefined;
  const known = form === undefined ? layouts : compiled(form).layouts;
  let layout = known.get(desc);
  if (layout === undefined) {
    layout = { open: "{", members: desc.members.map((of) => ({ write: memberOf(of, form), fields: fieldsOf(of) })) };
    known.set(desc, layout);
  }
  return layout;
}

function fieldsOf(member: DescField | DescOneof): JsonField[] {
  const fields = member.kind === "oneof" ? member.fields : [member];
  return fields.map((of) => ({ of, key: memberPrefix(of.jsonName).first }));
}

function memberOf(member: DescField | DescOneof, form: JsonForm | undefined): Member {
  return member.kind === "oneof" ? oneofMember(member, form) : fieldMember(member, form);
}

/**
 * Returns the ProtoJSON writer of a message type, compiled once from its descriptor. It writes text directly, without
 * an object in between. REQUIRED fields are written even at their default; other fields without presence are then left
 * out (specification 5.7). Names are lowerCamelCase (5.5), timestamps have three fraction digits (5.6.1). The text is
 * one line for every reader (`quote`), as stream events require.
 *
 * @param form an alternative to ProtoJSON, with its own writers
 * @throws A2AError with reason INTERNAL for a value without a JSON form: NaN or an infinity in a Value, a Timestamp out
 * of range, a value of the wrong type, nesting beyond 100, and a value that the form has no word for
 */
export function jsonWriter<Desc extends DescMessage>(
  desc: Desc,
  form?: JsonForm,
): (message: MessageShape<Desc>) => string {
  return jsonWriterOf(desc, form);
}

function jsonWriterOf(desc: DescMessage, form: JsonForm | undefined): Write {
  const kept = form === undefined ? writers : compiled(form).writers;
  const known = kept.get(desc);
  if (known !== undefined) return known;
  const special = (form === undefined ? undefined : formWriterOf(desc, form)?.write) ?? wellKnown(desc);
  if (special !== undefined) {
    kept.set(desc, special);
    return special;
  }
  const members: Member[] = [];
  const write: Write = (message) => {
    let out = "{";
    const fields = membersOf(message);
    for (const member of members) out = member(fields, out);
    return `${out}}`;
  };
  // Registered before its fields are compiled, because a message may contain its own type.
  kept.set(desc, write);
  for (const member of desc.members) members.push(memberOf(member, form));
  return write;
}

/** Returns the writer of a type with a table in the form. */
function formWriterOf(desc: DescMessage, form: JsonForm): FormWriter | undefined {
  const { types, tools } = compiled(form);
  if (!types.has(desc)) types.set(desc, form.writer(desc, tools));
  return types.get(desc);
}

function compiled(form: JsonForm): Compiled {
  let known = compiledForms.get(form);
  if (known === undefined) {
    const tools: WriterTools = {
      value: (field) => (isId(field) ? idWriter() : valueWriter(field, form)),
      items: (field, write) => (field.fieldKind === "list" ? listWriter(write) : write),
    };
    known = { writers: new WeakMap(), layouts: new WeakMap(), types: new Map(), tools };
    compiledForms.set(form, known);
  }
  return known;
}

function oneofMember(oneof: DescOneof, form: JsonForm | undefined): Member {
  const name = oneof.localName;
  const cases = new Map<unknown, { first: string; later: string; write: Write }>();
  for (const field of oneof.fields) {
    cases.set(field.localName, { ...memberPrefix(field.jsonName), write: valueWriter(field, form) });
  }
  return (message, out) => {
    const chosen = choiceIn(message[name]);
    const entry = cases.get(chosen.case);
    if (entry === undefined) return out;
    return out + (out === "{" ? entry.first : entry.later) + entry.write(chosen.value);
  };
}

function fieldMember(field: DescField, form: JsonForm | undefined): Member {
  const name = field.localName;
  const { first, later } = memberPrefix(field.jsonName);
  const write = isId(field) ? idWriter() : valueWriter(field, form);
  if (!hasImplicitPresence(field)) {
    return (message, out) => {
      const value = message[name];
      return value === undefined ? out : out + (out === "{" ? first : later) + write(value);
    };
  }
  if (isAlwaysWritten(field)) return (message, out) => out + (out === "{" ? first : later) + write(message[name]);
  const isZero = zeroTest(field);
  return (message, out) => {
    const value = message[name];
    return isZero(value) ? out : out + (out === "{" ? first : later) + write(value);
  };
}

/** Returns true for an id, whose value often repeats from one message to the next. */
function isId(field: DescField): boolean {
  return field.fieldKind === "scalar" && field.scalar === ScalarType.STRING && /(^|_)id$/.test(field.name);
}

/** Caches the text of the last short id, because all events of a stream carry the same ids. */
function idWriter(): Write {
  let last: unknown = "";
  let text = '""';
  return (value) => {
    if (value === last) return text;
    const written = quote(expect("string", value));
    if (written.length > MAX_KEPT_ID) return written;
    last = value;
    text = written;
    return text;
  };
}

function valueWriter(field: DescField, form: JsonForm | undefined): Write {
  const write = itemWriter(field, form);
  if (field.fieldKind === "map") return mapWriter(write);
  if (field.fieldKind !== "list") return write;
  if (field.message === undefined) return listWriter(write);
  if (form !== undefined) return listWriter((item) => sharedFormItem(item as Message, write, form));
  return listWriter((item) => sharedItem(item as Message, write));
}

/** Returns the writer of a singular field, of an item of a list or of a value of a map. */
function itemWriter(field: DescField, form: JsonForm | undefined): Write {
  if (field.enum !== undefined) return form?.enumWriter(field.enum) ?? enumWriter(field.enum);
  if (field.message === undefined) return scalarWriter(field.scalar);
  if (holdsJsonObject(field)) return structWriter;
  const scalar = unwrapped(field);
  if (scalar !== undefined) return scalarWriter(scalar);
  // Looked up on first use, because the type may be the one that is being compiled.
  const desc = field.message;
  let write: Write | undefined;
  return (value) => {
    write ??= jsonWriterOf(desc, form);
    return write(value);
  };
}

function listWriter(write: Write): Write {
  return (value) => {
    const items = listIn(value);
    let out = "[";
    for (let i = 0; i < items.length; i++) out += i === 0 ? write(items[i]) : `,${write(items[i])}`;
    return `${out}]`;
  };
}

function mapWriter(write: Write): Write {
  return (value) => {
    let out = "";
    for (const [key, item] of Object.entries(membersOf(value))) {
      out += `${out === "" ? "" : ","}${quote(key)}:${write(item)}`;
    }
    return `{${out}}`;
  };
}
