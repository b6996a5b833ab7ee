import { runInNewContext } from "node:vm";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { violationText } from "../../../core/error.js";
import { attempt } from "../../../core/members.js";
import { isJsonObject } from "../../../wire/json-struct.js";
import { parsedJson } from "../../../wire/parsed-json.js";
import { singleLine } from "../text.js";

/** Maximum number of fields that are asked for one by one. */
const MAX_FIELDS = 200;

/** Maximum number of choices that are listed. */
const MAX_CHOICES = 100;

/** Time for a pattern of the agent, in milliseconds. Some take forever on a few characters. */
const PATTERN_MS = 100;

/** A form that an agent asks to fill in (docs/questions.md): a data part of the type `form`, with a JSON Schema. */
export interface Form {
  readonly id: string | undefined;
  readonly schema: JsonObject;
  /** Values that it already has. */
  readonly data: JsonObject;
  /** Faults of the last answer, as sentences. */
  readonly violations: readonly string[];
}

/** Finds the form in the data of a message. */
export function formIn(data: readonly JsonValue[]): Form | undefined {
  const part = data.find((each): each is JsonObject => isJsonObject(each) && each.type === "form");
  if (part === undefined || !isJsonObject(part.form)) return undefined;
  const { id, form, form_data: given, violations } = part;
  return {
    id: typeof id === "string" ? id : undefined,
    schema: form,
    data: isJsonObject(given) ? given : {},
    violations: (Array.isArray(violations) ? violations : []).flatMap((each) =>
      isJsonObject(each)
        ? [violationText({ field: String(each.field ?? ""), description: String(each.description ?? "") })]
        : [],
    ),
  };
}

/** Asks for a line; undefined if the person leaves the form. */
export type Ask = (prompt: string) => Promise<string | undefined>;

export type Tell = (line: string, isFault?: boolean) => void;

/** Result of asking for a form: its values, or what the person did instead. */
export type Filled = JsonObject | "declined" | "left";

/** Asks for the fields of a form one by one, and checks each value and then the whole. */
export async function askForm(form: Form, ask: Ask, tell: Tell): Promise<Filled> {
  for (const violation of form.violations) tell(singleLine(violation), true);
  tell("An empty line takes the value in brackets, < goes back, << declines, Ctrl-C leaves the form open.");
  let values: JsonObject = { ...form.data };
  for (;;) {
    const filled = await fill(form.schema, values, ask, tell);
    if (typeof filled === "string") return filled;
    values = filled;
    const { violations } = await checked(form.schema, values);
    for (const violation of violations) tell(singleLine(violation), true);
    for (const [name, value] of Object.entries(values)) tell(`  ${singleLine(name)}: ${shown(value)}`);
    const answer = violations.length > 0 ? "n" : (await ask("Send this? [Y/n] "))?.trim();
    if (answer === undefined) return "left";
    if (answer === "<<") return "declined";
    if (/^(?:y(?:es)?)?$/i.test(answer)) return values;
  }
}

/** Checks a value against a schema. The agent checks it again, and alone if the schema cannot be compiled here. */
async function checked(schema: JsonObject, value: JsonValue): Promise<{ readonly violations: readonly string[] }> {
  try {
    const { checkJson } = await import("../../../agent/json-schema.js");
    const result = checkJson(withoutPatterns(schema) as JsonObject, value);
    return { violations: "violations" in result ? result.violations.map(violationText) : [] };
  } catch {
    return { violations: [] };
  }
}

/** Members of a schema whose values are not schemas. */
const values: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);

/** Leaves out the patterns of a schema, and what depends on them. The agent checks them. */
function withoutPatterns(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isJsonObject(schema)) return schema;
  const dropped = isJsonObject(schema.patternProperties)
    ? ["patternProperties", "additionalProperties", "unevaluatedProperties"]
    : [];
  const kept = Object.entries(schema).filter(
    ([name, value]) => !dropped.includes(name) && !(name === "pattern" && typeof value === "string"),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, values.has(name) ? value : withoutPatterns(value)]));
}

/**
 * True if a text matches a pattern. Also true if the pattern takes too long or cannot be compiled: the agent checks it.
 */
function matches(text: string, pattern: string): boolean {
  const script = "new RegExp(pattern, 'u').test(text)";
  return attempt(() => runInNewContext(script, { pattern, text }, { timeout: PATTERN_MS }) === true) ?? true;
}

async function fill(schema: JsonObject, before: JsonObject, ask: Ask, tell: Tell): Promise<Filled> {
  const fields = Object.entries(isJsonObject(schema.properties) ? schema.properties : {}).slice(0, MAX_FIELDS);
  const required = Array.isArray(schema.required) ? schema.required : [];
  const values: JsonObject = { ...before };
  for (let at = 0; at < fields.length; ) {
    const [name = "", field] = fields[at] ?? [];
    const rules = isJsonObject(field) ? field : {};
    const isRequired = required.includes(name);
    describeField(name, rules, isRequired, tell);
    const otherwise = values[name] ?? rules.default;
    const typed = await ask(`${singleLine(name)}${otherwise === undefined ? "" : ` [${shown(otherwise)}]`}: `);
    if (typed === undefined) return "left";
    if (typed.trim() === "<<") return "declined";
    if (typed.trim() === "<") {
      at = Math.max(0, at - 1);
      continue;
    }
    const value = typed === "" ? otherwise : read(typed, rules);
    const fault = value === undefined ? (isRequired ? "is required" : undefined) : await faultOf(value, rules);
    if (fault !== undefined) {
      tell(`${singleLine(name)} ${singleLine(fault)}`, true);
      continue;
    }
    if (value !== undefined) values[name] = value;
    at++;
  }
  return values;
}

function describeField(
  name: string,
  { title, description, enum: choices }: JsonObject,
  isRequired: boolean,
  tell: Tell,
): void {
  const about = [title, description].filter((text) => typeof text === "string" && text !== name).join(". ");
  if (about !== "" || isRequired) tell(singleLine(`${about}${isRequired ? " (required)" : ""}`.trim()));
  if (!Array.isArray(choices)) return;
  for (const [at, choice] of choices.slice(0, MAX_CHOICES).entries()) tell(`  ${at + 1}) ${shown(choice)}`);
  if (choices.length > MAX_CHOICES) tell(`  and ${choices.length - MAX_CHOICES} more`);
}

/**
 * Converts a typed text to the type of its field. A text that cannot be converted is returned unchanged, so that the
 * check reports it.
 */
function read(typed: string, { type, enum: choices, items }: JsonObject): JsonValue {
  if (Array.isArray(choices)) {
    const chosen = choices[Number(typed) - 1];
    return chosen ?? choices.find((choice) => shown(choice).toLowerCase() === typed.trim().toLowerCase()) ?? typed;
  }
  if (type === "boolean")
    return /^(?:y|yes|true|1)$/i.test(typed) || (/^(?:n|no|false|0)$/i.test(typed) ? false : typed);
  if (type === "number" || type === "integer") return /^-?\d/.test(typed.trim()) ? Number(typed) : typed;
  if (type === "array" && !/^\s*\[/.test(typed)) {
    return typed.split(",").map((each) => read(each.trim(), isJsonObject(items) ? items : {}));
  }
  if (type === "array" || type === "object") return parsedJson(typed) ?? typed;
  return typed;
}

async function faultOf(value: JsonValue, rules: JsonObject): Promise<string | undefined> {
  const { pattern } = rules;
  if (typeof value === "string" && typeof pattern === "string" && !matches(value, pattern)) {
    return `must match the pattern ${pattern}`;
  }
  const { violations } = await checked({ type: "object", properties: { value: rules } }, { value });
  return violations[0]?.replace(/^value:? ?/, "");
}

function shown(value: JsonValue): string {
  return singleLine(typeof value === "string" ? value : JSON.stringify(value));
}
