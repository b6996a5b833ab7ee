import type { DescField, DescMessage, DescOneof } from "@bufbuild/protobuf";
import { defined, membersOf } from "../../core/members.js";
import { hasImplicitPresence, isAlwaysWritten, zeroTest } from "../../wire/field-rules.js";
import type { Fields, FormWriter, JsonLayout, JsonMember, Member, Write, WriterTools } from "../../wire/json-form.js";
import { memberPrefix } from "../../wire/json-leaf-writer.js";
import { unwritable } from "../../wire/json-text.js";
import type {
  BareForm,
  ComputedForm,
  ConstantForm,
  FieldForm,
  FlatForm,
  GroupForm,
  MemberForm,
  ObjectForm,
  TypeForm,
  VariantsForm,
} from "./tables.js";

/** Compiles the writer of a type in a form. */
export function formWriter(desc: DescMessage, type: TypeForm, tools: WriterTools): FormWriter {
  if ("bare" in type) return bareWriter(desc, type, tools);
  if ("oneof" in type) return variantsWriter(desc, type, tools);
  if ("members" in type) return objectWriter(desc, type, tools);
  return { write: (message) => type.write(membersOf(message)), layout: () => undefined };
}

function objectWriter(desc: DescMessage, { members: forms }: ObjectForm, tools: WriterTools): FormWriter {
  const layout = layoutOf(desc, forms, tools);
  return { write: joinMembers(layout.open, layout.members), layout: () => layout };
}

function layoutOf(desc: DescMessage, forms: readonly MemberForm[], tools: WriterTools, start = "{") {
  const [open, rest] = beginning(start, forms);
  return { open, members: rest.map((form) => jsonMember(desc, form, tools)) };
}

/** Joins leading constants to the beginning of the object. */
function beginning(start: string, forms: readonly MemberForm[]): [open: string, rest: readonly MemberForm[]] {
  let open = start;
  let count = 0;
  for (const form of forms) {
    if (typeof form === "string" || !("constant" in form)) break;
    open = constantMember(form)({}, open);
    count++;
  }
  return [open, forms.slice(count)];
}

function joinMembers(open: string, members: readonly JsonMember[]): Write {
  const writes = members.map(({ write }) => write);
  return (message) => {
    const fields = membersOf(message);
    let out = open;
    for (const write of writes) out = write(fields, out);
    return `${out}}`;
  };
}

function variantsWriter(desc: DescMessage, form: VariantsForm, tools: WriterTools): FormWriter {
  const { oneof, by, isSilent, variants } = form;
  const byCase = new Map<unknown, { write: Write; layout: JsonLayout }>();
  for (const [word, { cases, members }] of Object.entries(variants)) {
    const start = isSilent ? "{" : constantMember({ constant: by, value: word })({}, "{");
    const layout = layoutOf(desc, members, tools, start);
    const compiled = { write: joinMembers(layout.open, layout.members), layout };
    for (const name of cases) byCase.set(fieldOf(desc, name).localName, compiled);
  }
  const caseOf = (message: Readonly<Fields>) => {
    const compiled = byCase.get(membersOf(message[oneof]).case);
    if (compiled === undefined) throw unwritable(`a ${desc.name} without ${oneof}`);
    return compiled;
  };
  return {
    write: (message) => caseOf(membersOf(message)).write(message),
    layout: (message) => caseOf(message).layout,
  };
}

function bareWriter(desc: DescMessage, { bare }: BareForm, tools: WriterTools): FormWriter {
  const member = desc.members.find(({ localName }) => localName === bare);
  if (member === undefined) throw new TypeError(`${desc.typeName} has no ${bare}`);
  if (member.kind === "oneof") return bareOneof(desc, member, tools);
  const write = tools.value(member);
  return { write: (message) => write(membersOf(message)[bare]), layout: () => ({ bare: member }) };
}

function bareOneof(desc: DescMessage, { fields, localName }: DescOneof, tools: WriterTools): FormWriter {
  const cases = new Map<unknown, { field: DescField; write: Write }>();
  for (const field of fields) cases.set(field.localName, { field, write: tools.value(field) });
  const chosenOf = (message: unknown) => membersOf(membersOf(message)[localName]);
  const caseOf = (name: unknown) => {
    const found = cases.get(name);
    if (found === undefined) throw unwritable(`a ${desc.name} without ${localName}`);
    return found;
  };
  return {
    write: (message) => {
      const chosen = chosenOf(message);
      return caseOf(chosen.case).write(chosen.value);
    },
    layout: (message) => ({ bare: caseOf(chosenOf(message).case).field }),
  };
}

function jsonMember(desc: DescMessage, form: MemberForm, tools: WriterTools): JsonMember {
  if (typeof form === "string") return fieldMember(desc, { field: form }, tools);
  if ("field" in form) return fieldMember(desc, form, tools);
  if ("group" in form) return groupMember(desc, form, tools);
  if ("flat" in form) return { write: flatMember(desc, form, tools), fields: [] };
  return { write: "constant" in form ? constantMember(form) : computedMember(form), fields: [] };
}

function fieldMember(desc: DescMessage, form: FieldForm, tools: WriterTools): JsonMember {
  const of = fieldOf(desc, form.field);
  const { first, later } = memberPrefix(form.name ?? of.jsonName);
  const isWhole = form.write !== undefined || form.as !== undefined;
  const inside = form.inside?.map((each) => jsonMember(desc, each, tools));
  const text = fieldJson(of, form, tools);
  const write: Member = (message, out) => {
    const value = text(message);
    return value === undefined ? out : out + (out === "{" ? first : later) + value;
  };
  if (inside === undefined) return { write, fields: isWhole ? [] : [{ of, key: first }] };
  const within: Member = (message, out) => {
    const value = text(message);
    if (value === undefined) return out;
    let object = value.slice(0, -1);
    for (const member of inside) object = member.write(message, object);
    return `${out}${out === "{" ? first : later}${object}}`;
  };
  return { write: within, fields: isWhole ? [] : [{ of, key: first, inside }] };
}

/** Returns the JSON of a field's value, or undefined if the field is left out. */
function fieldJson(
  field: DescField,
  form: FieldForm,
  tools: WriterTools,
): (message: Readonly<Fields>) => string | undefined {
  const get = getterOf(field);
  const isAlways = form.isAlways ?? isAlwaysWritten(field);
  const { absent, write: own } = form;
  const isZero = hasImplicitPresence(field) && field.oneof === undefined ? zeroTest(field) : isUndefined;
  if (own !== undefined) {
    return (message) => {
      const value = get(message);
      return !isAlways && isZero(value) ? absent : own(value, message);
    };
  }
  const write = writerFor(field, form, tools);
  if (isAlways && isZero !== isUndefined) return (message) => write(get(message));
  return (message) => {
    const value = get(message);
    return isZero(value) ? absent : write(value);
  };
}

function writerFor(field: DescField, { as }: FieldForm, tools: WriterTools): Write {
  if (as === undefined) return tools.value(field);
  return tools.items(field, formWriter(defined(field.message), as, tools).write);
}

function isUndefined(value: unknown): boolean {
  return value === undefined;
}

/** Returns the getter of a field, including a field of a one-of. */
function getterOf({ localName, oneof }: DescField): (message: Readonly<Fields>) => unknown {
  if (oneof === undefined) return (message) => message[localName];
  const choice = oneof.localName;
  return (message) => {
    const chosen = membersOf(message[choice]);
    return chosen.case === localName ? chosen.value : undefined;
  };
}

function groupMember(desc: DescMessage, form: GroupForm, tools: WriterTools): JsonMember {
  const { first, later } = memberPrefix(form.group);
  const members = form.members.map((each) => jsonMember(desc, each, tools));
  const write: Member = (message, out) => {
    let inner = "{";
    for (const member of members) inner = member.write(message, inner);
    return inner === "{" ? out : `${out}${out === "{" ? first : later}${inner}}`;
  };
  return { write, fields: [], group: { key: first, members } };
}

function flatMember(desc: DescMessage, { flat, members: forms }: FlatForm, tools: WriterTools): Member {
  const field = fieldOf(desc, flat);
  const members = forms.map((each) => jsonMember(defined(field.message), each, tools).write);
  return (message, out) => {
    const nested = message[field.localName];
    if (nested === undefined) return out;
    let text = out;
    for (const member of members) text = member(membersOf(nested), text);
    return text;
  };
}

function constantMember({ constant, value }: ConstantForm): Member {
  const { first, later } = memberPrefix(constant);
  const text = JSON.stringify(value);
  return (_message, out) => out + (out === "{" ? first : later) + text;
}

function computedMember({ name, write }: ComputedForm): Member {
  const { first, later } = memberPrefix(name);
  if (write === undefined) return (_message, out) => out;
  return (message, out) => {
    const text = write(message);
    return text === undefined ? out : out + (out === "{" ? first : later) + text;
  };
}

/** @throws TypeError if the type has no field with that name */
export function fieldOf(desc: DescMessage, jsonName: string): DescField {
  const field = desc.fields.find((each) => each.jsonName === jsonName);
  if (field === undefined) throw new TypeError(`${desc.typeName} has no field ${jsonName}`);
  return field;
}
