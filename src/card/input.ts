import { type DescField, type DescMessage, isMessage } from "@bufbuild/protobuf";
import { unknownNames } from "../core/describe.js";

/**
 * What an author wrote as a card, in the shape of protobuf's own objects. A member of a one-of may be written as the
 * specification's JSON has it: `{ httpAuthSecurityScheme: { scheme: "bearer" } }`. Fields that the contract does not know go
 * to `faults`, as sentences that begin with their place.
 */
export function readInput(desc: DescMessage, input: unknown, faults: string[], place = ""): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input) || isMessage(input)) return input;
  // Values of the author's own, such as the parameters of an extension.
  if (desc.typeName.startsWith("google.protobuf.")) return input;
  const read: Record<string, unknown> = {};
  const unknown: string[] = [];
  // The name that each one-of was written under.
  const written = new Map<string, string>();
  for (const [name, value] of Object.entries(input)) {
    const at = place === "" ? name : `${place}.${name}`;
    const field = desc.fields.find(({ localName }) => localName === name);
    const oneof = desc.oneofs.find(({ localName }) => localName === name);
    const group = (oneof ?? field?.oneof)?.localName;
    if (group !== undefined) {
      // Absent and undefined are the same here.
      if (value === undefined) continue;
      const other = written.get(group);
      if (other !== undefined) faults.push(`${place} has ${other} and ${name}: give one of them`);
      written.set(group, name);
    }
    if (oneof !== undefined) read[name] = readMember(desc, value, faults, place);
    else if (field?.oneof !== undefined) {
      read[field.oneof.localName] = { case: name, value: readField(field, value, faults, at) };
    } else if (field !== undefined) read[name] = readField(field, value, faults, at);
    else if (!name.startsWith("$")) unknown.push(name);
  }
  const known = desc.fields.map(({ localName }) => localName);
  faults.push(...unknownNames(place === "" ? "" : `${place}.`, unknown, known));
  return read;
}

/** A one-of as protobuf's objects have it: `{ case, value }`. */
function readMember(desc: DescMessage, given: unknown, faults: string[], place: string): unknown {
  const { case: name, value } = (given ?? {}) as { case?: unknown; value?: unknown };
  const field = desc.fields.find(({ localName }) => localName === name);
  if (field === undefined) return given;
  return { case: name, value: readField(field, value, faults, `${place}.${field.localName}`) };
}

function readField(field: DescField, value: unknown, faults: string[], at: string): unknown {
  const { message } = field;
  if (message === undefined || typeof value !== "object" || value === null) return value;
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) return value;
    return value.map((each, i) => readInput(message, each, faults, `${at}[${i}]`));
  }
  if (field.fieldKind === "map") {
    const entries = Object.entries(value).map(([key, each]) => [key, readInput(message, each, faults, `${at}.${key}`)]);
    return Object.fromEntries(entries);
  }
  return readInput(message, value, faults, at);
}
