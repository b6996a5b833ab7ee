import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { membersOf, messageIn } from "../../core/members.js";
import { hasImplicitPresence, isRequired } from "../../wire/field-rules.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { setOwn } from "../../wire/json-value.js";
import { WRITTEN_JSON_LEVELS } from "../../wire/nesting.js";
import { CardFormError, type CardInput, jsonOfCard } from "./card-json.js";

type JsonMembers = Record<string, unknown>;

/** The members of a card that a signature covers, and those that it may omit. */
export interface CardMembers {
  /** Members of the contract, by the presence rules of specification 8.4.1, without `signatures`. */
  readonly known: JsonMembers;
  /** The same including unknown members. */
  readonly whole: JsonMembers;
  /** Places of members that the contract does not know, such as `url` or `skills[0].price`. */
  readonly unknown: readonly string[];
}

/**
 * Returns the canonical form of a card that a signature covers: the members that are present by specification 8.4.1,
 * without `signatures`, in the form of RFC 8785. The order of members, white space, the contract's spelling of names
 * and explicit defaults do not change the result. Members that the contract does not know are omitted.
 *
 * @throws CardFormError if the input is not a card.
 */
export async function canonicalCard(card: CardInput): Promise<string> {
  return canonicalText(membersOfCard(card).known);
}

/** Returns JSON in the form of RFC 8785. @throws CardFormError for texts that are not Unicode. */
export async function canonicalText(json: unknown): Promise<string> {
  const { default: canonicalize } = await import("canonicalize");
  try {
    return canonicalize(json) as string;
  } catch (cause) {
    throw new CardFormError(`The card has no canonical form: ${messageIn(cause)}.`, { cause });
  }
}

/** @throws CardFormError if the input is not a card. */
export function membersOfCard(card: CardInput): CardMembers {
  const { signatures: _, ...json } = jsonOfCard(card);
  const unknown: string[] = [];
  const known = readMessage(AgentCardSchema, json, { path: "", depth: 1, keepUnknown: false, unknown });
  if (unknown.length === 0) return { known, whole: known, unknown };
  const whole = readMessage(AgentCardSchema, json, { path: "", depth: 1, keepUnknown: true, unknown: [] });
  return { known, whole, unknown };
}

/**
 * Drops every empty text, list and object at every depth, including REQUIRED ones. The specification does not say so,
 * but some libraries sign and verify this form.
 */
export function withoutEmpty(json: Readonly<JsonMembers>): JsonMembers {
  return (dropEmpty(json) as JsonMembers | undefined) ?? {};
}

function dropEmpty(value: unknown): unknown {
  if (value === "" || value === null) return undefined;
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const items = value.map(dropEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  const kept: JsonMembers = {};
  for (const [name, inner] of Object.entries(value)) {
    const left = dropEmpty(inner);
    if (left !== undefined) setOwn(kept, name, left);
  }
  return Object.keys(kept).length === 0 ? undefined : kept;
}

/** Current position of the parser. */
interface At {
  readonly path: string;
  readonly depth: number;
  readonly keepUnknown: boolean;
  /** Gets the places of members that the contract does not know. */
  readonly unknown: string[];
}

const inside = (at: At, name: string): At => ({
  ...at,
  path: at.path === "" ? name : `${at.path}.${name}`,
  depth: at.depth + 1,
});

const wrong = (at: At, what: string): CardFormError => new CardFormError(`${at.path || "The card"} ${what}.`);

/**
 * Reads a message by the presence rules: keeps set `optional` fields and messages, drops other fields with default
 * values.
 */
function readMessage(desc: DescMessage, json: unknown, at: At): JsonMembers {
  if (!isJsonObject(json)) throw wrong(at, "is not an object");
  if (at.depth > WRITTEN_JSON_LEVELS) throw wrong(at, "is nested too deep");
  const present: JsonMembers = {};
  const seen = new Set<DescField>();
  for (const [name, value] of Object.entries(json)) {
    const here = inside(at, name);
    const field = desc.fields.find((each) => each.jsonName === name || each.name === name);
    if (field === undefined) {
      at.unknown.push(here.path);
      if (at.keepUnknown) setOwn(present, name, readJson(value, here));
      continue;
    }
    if (seen.has(field)) throw wrong(here, "is given twice, in two spellings");
    seen.add(field);
    // Null means that the field is not set (ProtoJSON).
    if (value === null || value === undefined) continue;
    const read = readField(field, value, here);
    if (!hasImplicitPresence(field) || !isDefault(read)) present[field.jsonName] = read;
  }
  // REQUIRED fields are present even if they were not written.
  for (const field of desc.fields) {
    if (isRequired(field) && hasImplicitPresence(field)) present[field.jsonName] ??= defaultOf(field);
  }
  return present;
}

function readField(field: DescField, json: unknown, at: At): unknown {
  if (field.fieldKind === "list") {
    if (!Array.isArray(json)) throw wrong(at, "is not a list");
    return json.map((item, i) => readItem(field, item, { ...at, path: `${at.path}[${i}]`, depth: at.depth + 1 }));
  }
  if (field.fieldKind !== "map") return readItem(field, json, at);
  if (!isJsonObject(json)) throw wrong(at, "is not an object");
  const entries: JsonMembers = {};
  for (const [key, item] of Object.entries(json)) setOwn(entries, key, readItem(field, item, inside(at, key)));
  return entries;
}

/** A singular field, an item of a list or a value of a map. */
function readItem(field: DescField, json: unknown, at: At): unknown {
  if (field.message?.typeName === "google.protobuf.Struct") {
    if (!isJsonObject(json)) throw wrong(at, "is not an object");
    return readJson(json, at);
  }
  if (field.message !== undefined) return readMessage(field.message, json, at);
  const type = typeNames.get(field.scalar);
  // The canonical form of other field types is undefined; a test checks all types.
  if (type === undefined) throw wrong(at, "has a type that cards do not have");
  if (typeof json !== type) throw wrong(at, `is not a ${type}`);
  return json;
}

const typeNames: ReadonlyMap<unknown, "string" | "boolean"> = new Map([
  [ScalarType.STRING, "string"],
  [ScalarType.BOOL, "boolean"],
]);

/** Copies any JSON completely, such as the parameters of an extension. */
function readJson(json: unknown, at: At): unknown {
  if (at.depth > WRITTEN_JSON_LEVELS) throw wrong(at, "is nested too deep");
  if (Array.isArray(json)) return json.map((item, i) => readJson(item, inside(at, String(i))));
  if (!isJsonObject(json)) return json;
  const copy: JsonMembers = {};
  for (const [name, value] of Object.entries(json)) setOwn(copy, name, readJson(value, inside(at, name)));
  return copy;
}

function isDefault(value: unknown): boolean {
  if (typeof value === "object") return Object.keys(membersOf(value)).length === 0;
  return value === "" || value === false;
}

function defaultOf(field: DescField): unknown {
  if (field.fieldKind === "list") return [];
  if (field.fieldKind === "map") return {};
  return field.scalar === ScalarType.BOOL ? false : "";
}
