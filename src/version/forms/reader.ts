import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { defined } from "../../core/members.js";
import type { Fields, JsonObject, PutMember, Read, ReaderTools } from "../../wire/json-form.js";
import { isJsonObject } from "../../wire/json-struct.js";
import type { Violations } from "../../wire/violations.js";
import type {
  BareForm,
  ComputedForm,
  FieldForm,
  FlatForm,
  GroupForm,
  MemberForm,
  ObjectForm,
  Settle,
  TypeForm,
  VariantsForm,
} from "./tables.js";
import { fieldOf } from "./writer.js";

/** Functions of the ProtoJSON reader, with the names that a form takes. */
interface Tools extends ReaderTools {
  readonly takesSnakeCase: boolean | undefined;
}

/** Members by name, and the checks that run after all of them are read. */
interface Members {
  readonly byName: ReadonlyMap<string, PutMember>;
  readonly checks: readonly Settle[];
}

/** The message type that the members of an object belong to, and the forms of its members. */
interface Scope {
  readonly desc: DescMessage;
  readonly forms: readonly MemberForm[];
  readonly settle: Settle | undefined;
}

/** Compiles the reader of a type in a form. */
export function formReader(desc: DescMessage, type: TypeForm, tools: Tools): Read {
  if ("bare" in type) return bareReader(desc, type, tools);
  if ("oneof" in type) return variantsReader(desc, type, tools);
  if ("members" in type) return objectReader(desc, type, tools);
  return type.read;
}

function objectReader(desc: DescMessage, form: ObjectForm, tools: Tools): Read {
  const blank = tools.blank(desc);
  const members = memberReaders({ desc, forms: form.members, settle: form.settle }, tools);
  const { prepare } = form;
  return (given, at) => {
    const json = prepare === undefined ? given : prepare(given);
    if (!isJsonObject(json)) return at.add("must be an object");
    if (at.depth >= at.levels) return at.add("is nested too deep");
    const message = blank();
    at.depth++;
    readMembers(members, message, json, at);
    at.depth--;
    return message;
  };
}

function readMembers({ byName, checks }: Members, message: Fields, json: JsonObject, at: Violations): void {
  for (const name of Object.keys(json)) byName.get(name)?.(message, json[name], at, json);
  for (const settle of checks) settle(message, json, at);
}

function variantsReader(desc: DescMessage, form: VariantsForm, tools: Tools): Read {
  const { by, wordOf = (json) => json[by] } = form;
  const blank = tools.blank(desc);
  const variants = new Map<unknown, Members>();
  for (const [word, { members, settle }] of Object.entries(form.variants)) {
    variants.set(word, memberReaders({ desc, forms: members, settle }, tools));
  }
  const { expectation = `must be one of ${Object.keys(form.variants).join(", ")}` } = form;
  return (json, at) => {
    if (!isJsonObject(json)) return at.add("must be an object");
    if (at.depth >= at.levels) return at.add("is nested too deep");
    const members = variants.get(wordOf(json));
    // An unknown kind, from a later version, counts as one without content, as in ProtoJSON.
    if (members === undefined) return at.isTolerant ? blank() : at.add(expectation, by);
    const message = blank();
    at.depth++;
    readMembers(members, message, json, at);
    at.depth--;
    return message;
  };
}

function bareReader(desc: DescMessage, { bare, caseOf, expectation }: BareForm, tools: Tools): Read {
  const blank = tools.blank(desc);
  const member = desc.members.find(({ localName }) => localName === bare);
  if (member === undefined) throw new TypeError(`${desc.typeName} has no ${bare}`);
  if (member.kind !== "oneof") {
    const read = tools.value(member);
    return (json, at) => {
      const value = read(json, at);
      return value === undefined ? undefined : Object.assign(blank(), { [bare]: value });
    };
  }
  const cases = new Map<string | undefined, { name: string; read: Read }>();
  for (const field of member.fields) {
    cases.set(field.jsonName, { name: field.localName, read: tools.value(field) });
  }
  return (json, at) => {
    const chosen = cases.get(caseOf?.(json));
    if (chosen === undefined) return at.add(expectation ?? "is not known");
    const value = chosen.read(json, at);
    return value === undefined ? undefined : Object.assign(blank(), { [bare]: { case: chosen.name, value } });
  };
}

function memberReaders({ desc, forms, settle }: Scope, tools: Tools): Members {
  const byName = new Map<string, PutMember>();
  const checks: Settle[] = [];
  for (const each of forms) {
    const form = typeof each === "string" ? { field: each } : each;
    if ("constant" in form) continue;
    if ("flat" in form) {
      addFlat(desc, form, { tools, byName, checks });
      continue;
    }
    const { names, put } = namedMember(desc, form, forms, tools);
    if (put === undefined) continue;
    addNames(byName, names, put, tools);
    if ("isRequired" in form && form.isRequired === true) checks.push(requiredCheck(names, isChoice(desc, form)));
  }
  if (settle !== undefined) checks.push(settle);
  return { byName, checks };
}

interface NamedMember {
  readonly names: readonly string[];
  /** Creates the reader of the member under one of its names. */
  readonly put?: ((name: string) => PutMember) | undefined;
}

function namedMember(
  desc: DescMessage,
  form: FieldForm | GroupForm | ComputedForm,
  siblings: readonly MemberForm[],
  tools: Tools,
): NamedMember {
  if ("group" in form) {
    const members = memberReaders({ desc, forms: form.members, settle: form.settle }, tools);
    return { names: [form.group, ...(form.also ?? [])], put: (name) => groupMember(name, members) };
  }
  if ("name" in form && !("field" in form)) {
    const { name, read } = form;
    return { names: [name], put: read === undefined ? undefined : (as) => computedMember(as, read) };
  }
  const { field: jsonName, name = jsonName, also = [] } = form as FieldForm;
  const field = fieldOf(desc, jsonName);
  const read = valueReader(field, form as FieldForm, tools);
  const choices = choicesOf(desc, field, siblings);
  const inside = (form as FieldForm).inside;
  const within = inside && memberReaders({ desc, forms: inside, settle: undefined }, tools);
  return {
    names: [name, ...also],
    put: (as) => {
      const put = tools.member(field, { name: as, choices }, read);
      return within === undefined ? put : insideMember(as, put, within);
    },
  };
}

function valueReader(field: DescField, { read, as }: FieldForm, tools: Tools): Read {
  if (read !== undefined) return read;
  if (as === undefined) return tools.value(field);
  const item = formReader(defined(field.message), as, tools);
  return field.fieldKind === "list" ? tools.list(item) : item;
}

/** Names of the members that set the same one-of, for the violation that two of them were given. */
function choicesOf(desc: DescMessage, { oneof }: DescField, siblings: readonly MemberForm[]): string[] {
  if (oneof === undefined) return [];
  return siblings.flatMap((each) => {
    const form = typeof each === "string" ? { field: each } : each;
    if (!("field" in form) || fieldOf(desc, form.field).oneof !== oneof) return [];
    return [("name" in form ? form.name : undefined) ?? form.field];
  });
}

function addNames(
  byName: Map<string, PutMember>,
  names: readonly string[],
  put: (name: string) => PutMember,
  { takesSnakeCase }: Tools,
): void {
  const all = takesSnakeCase ? [...new Set(names.flatMap((name) => [name, snakeCase(name)]))] : names;
  for (const [i, name] of all.entries()) {
    byName.set(name, i === 0 ? put(name) : unlessTwice(name, all.slice(0, i), put(name)));
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Rejects a member that was already given under another of its names. */
function unlessTwice(name: string, others: readonly string[], put: PutMember): PutMember {
  return (message, json, at, object) => {
    const other = others.find((each) => object[each] !== undefined && object[each] !== null);
    if (other === undefined || json === null) put(message, json, at, object);
    else if (!at.isTolerant) at.add(`is the same as ${other}, of which there can be one`, name);
  };
}

function isChoice(desc: DescMessage, form: FieldForm | GroupForm | ComputedForm): boolean {
  return "field" in form && fieldOf(desc, form.field).oneof !== undefined;
}

function requiredCheck(names: readonly string[], mayBeEmpty: boolean): Settle {
  const isValue = (json: unknown) => json !== undefined && json !== null && (mayBeEmpty || json !== "");
  return (_message, json, at) => {
    if (at.isTolerant) return;
    const isThere = names.some((name) => isValue(json[name]));
    if (!isThere) at.add("is required", defined(names[0]));
  };
}

function groupMember(name: string, members: Members): PutMember {
  return (message, json, at) => {
    if (json === null) return;
    at.enter(name);
    if (isJsonObject(json)) readMembers(members, message, json, at);
    else at.add("must be an object");
    at.leave();
  };
}

function insideMember(name: string, put: PutMember, within: Members): PutMember {
  return (message, json, at, object) => {
    put(message, json, at, object);
    if (!isJsonObject(json)) return;
    at.enter(name);
    readMembers(within, message, json, at);
    at.leave();
  };
}

function computedMember(name: string, read: NonNullable<ComputedForm["read"]>): PutMember {
  return (message, json, at) => {
    if (json === null) return;
    at.enter(name);
    read(message, json, at);
    at.leave();
  };
}

/** Adds the members of a nested message to the object around it. The first member read creates the nested message. */
function addFlat(
  desc: DescMessage,
  { flat, members }: FlatForm,
  to: { readonly tools: Tools; readonly byName: Map<string, PutMember>; readonly checks: Settle[] },
): void {
  const field = fieldOf(desc, flat);
  const nested = defined(field.message);
  const blank = to.tools.blank(nested);
  const inner = memberReaders({ desc: nested, forms: members, settle: undefined }, to.tools);
  for (const [name, put] of inner.byName) {
    to.byName.set(name, (message, json, at, object) => {
      if (json === null) return;
      message[field.localName] ??= blank();
      put(message[field.localName] as Fields, json, at, object);
    });
  }
  to.checks.push(...inner.checks);
}
