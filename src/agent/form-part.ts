import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Violation, violationText } from "../core/error.js";
import type { PartInput } from "../task/message-input.js";
import { isJsonObject } from "../wire/json-struct.js";
import { parsedJson } from "../wire/parsed-json.js";
import { type FormSchema, formBounds, jsonSchemaOf } from "./schema.js";

/**
 * The part of a message that holds a form, in the shape that the first samples of A2A and their user interface
 * understand. docs/questions.md describes it.
 */

/** Media type of a data part with a form. */
const FORM_MEDIA_TYPE = "application/vnd.parley.form+json";

/** The text that the first user interface of A2A sends when its user cancels a form. */
const CANCEL_TEXT = "rejected form entry";

/** A question with a form. */
export interface FormRequest {
  /** The question: shown above the form, or alone by clients without forms. */
  readonly text: string;
  readonly form: FormSchema;
  /** Values that the form already has. Those of unknown fields are omitted. */
  readonly data?: JsonObject;
}

/** Content of a message with a form. */
interface FormContent {
  readonly parts: readonly PartInput[];
}

/** Members that `turn.form` adds to a form. */
export interface FormRound {
  /** Identifies the form within its task. */
  readonly id: string;
  readonly violations: readonly Violation[];
}

/** Returns the content of a question with a form: a text part and the form's data part. */
export function formContent({ text, form, data = {} }: FormRequest, round?: FormRound): FormContent {
  const schema = jsonSchemaOf(form);
  const violations = (round?.violations ?? []).slice(0, formBounds.maxViolations).map(({ field, description }) => ({
    field: field.slice(0, formBounds.maxDescription),
    description: description.slice(0, formBounds.maxDescription),
  }));
  const part: PartInput = {
    mediaType: FORM_MEDIA_TYPE,
    data: {
      type: "form",
      ...(round && { id: round.id }),
      form: schema,
      form_data: known(data, schema),
      instructions: text,
      ...(violations.length > 0 && { violations }),
    },
  };
  return { parts: [{ text: [text, ...violations.map(violationText)].join("\n") }, part] };
}

/** Returns the id of the form in a question of `turn.form`. */
export function formIdOf(data: readonly JsonValue[]): string | undefined {
  const form = data.find((each): each is JsonObject => isJsonObject(each) && each.type === "form");
  return typeof form?.id === "string" ? form.id : undefined;
}

/** Returns the id of the form that an answer names in the metadata of its data part. */
export function namedForm(message: Message): string | undefined {
  const form = message.parts.find(({ content }) => content.case === "data")?.metadata?.form;
  return typeof form === "string" ? form : undefined;
}

/** An answer to a form: its data, or that the user declined it. Undefined for a message that is neither. */
export type GivenAnswer = { readonly data: JsonValue } | { readonly declined: true } | undefined;

/** Reads the answer of a message: its first data part, or its text as JSON. */
export function answerIn({ text, data }: { readonly text: string; readonly data: readonly JsonValue[] }): GivenAnswer {
  const [first] = data;
  if (isJsonObject(first) && first.type === "form" && first.declined === true) return { declined: true };
  if (first !== undefined) return { data: first };
  if (text.trim().toLowerCase() === CANCEL_TEXT) return { declined: true };
  if (text.length > formBounds.maxAnswer) return undefined;
  const json = parsedJson(text);
  return json === undefined ? undefined : { data: json };
}

/** True for an answer within the bounds. Others are neither checked nor repeated. */
export function isBounded(answer: JsonValue): boolean {
  return levelsOf(answer) <= formBounds.maxLevels && JSON.stringify(answer).length <= formBounds.maxAnswer;
}

function levelsOf(value: JsonValue, above = 0): number {
  if (typeof value !== "object" || value === null || above > formBounds.maxLevels) return above;
  let levels = above;
  for (const inner of Object.values(value)) levels = Math.max(levels, levelsOf(inner, above + 1));
  return levels;
}

/** Clients of the first samples fail at values of fields that the form does not have. */
function known(data: JsonObject, { properties }: JsonObject): JsonObject {
  if (!isJsonObject(properties)) return data;
  return Object.fromEntries(Object.entries(data).filter(([name]) => Object.hasOwn(properties, name)));
}
