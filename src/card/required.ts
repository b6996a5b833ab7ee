import type { DescField, DescMessage, DescOneof } from "@bufbuild/protobuf";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { isRequired } from "../wire/field-rules.js";

/**
 * REQUIRED lists that an author may leave empty: the server fills the interfaces, and an agent may have no skills
 * (specification 8.4.1 shows one).
 */
const mayBeEmpty: ReadonlySet<string> = new Set([
  "lf.a2a.v1.AgentCard.supported_interfaces",
  "lf.a2a.v1.AgentCard.skills",
]);

/** The REQUIRED fields of each message: protobuf-es parses the options of a field each time. */
const required = new WeakMap<DescMessage, ReadonlySet<DescField>>();

function requiredOf(desc: DescMessage): ReadonlySet<DescField> {
  let fields = required.get(desc);
  if (fields === undefined) {
    fields = new Set(desc.fields.filter(isRequired));
    required.set(desc, fields);
  }
  return fields;
}

/**
 * Returns every unset REQUIRED field and every one-of without a member, at any depth, as sentences that begin with the
 * place. The rules come from the descriptor (specification 5.7), so a new REQUIRED field needs no change here.
 */
export function missingFields(message: ReflectMessage, path = ""): string[] {
  const found: string[] = [];
  for (const field of message.fields) {
    const place = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
    if (requiredOf(message.desc).has(field)) found.push(...emptyValues(message, field, place));
    for (const [inner, at] of inside(message, field, place)) found.push(...missingFields(inner, at));
  }
  for (const oneof of message.desc.oneofs) {
    if (message.oneofCase(oneof) === undefined) found.push(`${path} sets none of ${members(oneof)}`);
  }
  return found;
}

function emptyValues(message: ReflectMessage, field: DescField, place: string): string[] {
  switch (field.fieldKind) {
    case "list": {
      const values = [...message.get(field)];
      if (values.length === 0)
        return mayBeEmpty.has(`${field.parent.typeName}.${field.name}`) ? [] : [`${place} is empty`];
      return values.flatMap((value, i) => (isBlank(value) ? [`${place}[${i}] is empty`] : []));
    }
    case "map":
      // An empty map is a value: a flow that offers no scopes.
      return [];
    case "scalar":
      return isBlank(message.get(field)) ? [`${place} is empty`] : [];
    default:
      return message.isSet(field) ? [] : [`${place} is missing`];
  }
}

const isBlank = (value: unknown): boolean => typeof value === "string" && value.trim() === "";

const members = (oneof: DescOneof): string => oneof.fields.map((field) => field.jsonName).join(", ");

/** The messages below a field, with their places. Well-known types such as Struct are values, not messages, here. */
function* inside(message: ReflectMessage, field: DescField, place: string): Generator<[ReflectMessage, string]> {
  if (field.message === undefined || field.message.typeName.startsWith("google.protobuf.")) return;
  if (!message.isSet(field)) return;
  if (field.fieldKind === "message") {
    yield [message.get(field), place];
  } else if (field.fieldKind === "list") {
    let i = 0;
    for (const entry of message.get(field)) yield [entry as ReflectMessage, `${place}[${i++}]`];
  } else if (field.fieldKind === "map") {
    for (const [key, entry] of message.get(field)) yield [entry as ReflectMessage, `${place}.${String(key)}`];
  }
}
