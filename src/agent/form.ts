import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Violation, violationText } from "../core/error.js";
import { isJsonObject } from "../wire/json-struct.js";
import { FormDeclined, TurnPaused } from "./errors.js";
import { endsTurn, inputRequired, type StatusEvent } from "./event.js";
import { checkAnswer, checkSchema } from "./form-check.js";
import { answerIn, formContent, isBounded } from "./form-part.js";
import type { Checked, FormAnswer, FormSchema } from "./schema.js";
import { MAX_NAME, storedName } from "./stored-name.js";

/** Options of `turn.form`. */
export interface FormOptions {
  /** The question: shown above the form, or alone by clients without forms. */
  readonly text: string;
  /** Values that the form already has. Those of unknown fields are omitted. */
  readonly data?: JsonObject;
  /**
   * Identifies the form within its task. Default: "form". Forms of the same name are numbered in the order in which a
   * turn asks for them, which has to be the same in each turn; set names if it is not. At most 65,536 characters.
   */
  readonly name?: string;
  /**
   * Reads the answer from a message without a data part, for example with a model. The form is asked again if it
   * returns undefined. Default: the text as JSON.
   */
  readonly read?: (text: string) => JsonValue | undefined | Promise<JsonValue | undefined>;
}

/** The part of a turn that forms need. */
export interface FormTurn {
  readonly text: string;
  readonly data: readonly JsonValue[];
  /** Returns the id of the next form of a name in this turn. */
  nextId(name: string): string;
  /** Takes the answer of a form that this turn asks for. */
  taking<T>(id: string, take: () => Promise<T>): Promise<T>;
  /** Resolves when the answer of a form is taken, if this turn has asked for it. */
  taken(id: string | undefined): Promise<void>;
  /** Returns the id of the form that this turn's message answers. */
  answered(): Promise<string | undefined>;
  /** Tells whether the answer of a form is stored. */
  isStored(id: string): boolean;
  /** Stores the answer of a form, unless it is stored. Returns the stored answer. */
  store(id: string, answer?: StoredAnswer): Promise<StoredAnswer>;
}

/** The answer of a form as the user gave it: its value may not be JSON, so that a schema checks it again. */
export type StoredAnswer = { readonly answer: JsonValue } | { readonly declined: true };

const NOT_READ: Violation = { field: "", description: "Fill in the form, or answer with JSON." };
const TOO_LARGE: Violation = { field: "", description: "The answer is too large." };

/** Returns the form's answer, or asks for it and ends the turn. See `Turn.form`. */
export async function* askForm<Schema extends FormSchema>(
  turn: FormTurn,
  schema: Schema,
  options: FormOptions,
): AsyncGenerator<StatusEvent, FormAnswer<Schema>, undefined> {
  const { text, data, name = "form" } = options;
  if (name.length > MAX_NAME) throw new TypeError(`The name of a form has at most ${MAX_NAME} characters.`);
  await checkSchema(schema);
  const id = turn.nextId(storedName(name, MAX_ID));
  const taken = await turn.taking(id, () => take(turn, id, schema, options));
  if ("value" in taken) return taken.value as FormAnswer<Schema>;
  const { violations, filled = data } = taken;
  const content = formContent({ text, form: schema, ...(filled && { data: filled }) }, { id, violations });
  yield { ...inputRequired(content), [endsTurn]: true };
  throw new TurnPaused();
}

/** A form's valid answer, or the violations with the values that the user filled in. */
type Taken = Checked & { readonly filled?: JsonObject };

/** Takes the form's answer from the log or from the turn's message, and stores it. @throws FormDeclined */
async function take(turn: FormTurn, id: string, schema: FormSchema, options: FormOptions): Promise<Taken> {
  const answered = await turn.answered();
  // Reads the answer even if one is stored: `read` may use steps, which a turn that runs again has to repeat in order.
  const given = answered === id ? await formAnswer(turn, options) : undefined;
  if (turn.isStored(id)) return { value: await storedValue(id, schema, await turn.store(id)) };
  if (answered !== id) {
    // The question of this form ends the turn, and the answer of another one would be lost.
    await turn.taken(answered);
    return { violations: [] };
  }
  if (given !== undefined && "declined" in given) {
    await turn.store(id, given);
    throw new FormDeclined();
  }
  const checked = await check(schema, given?.data);
  if ("value" in checked) {
    await turn.store(id, { answer: given?.data as JsonValue });
    return checked;
  }
  return isJsonObject(given?.data) && isBounded(given.data) ? { ...checked, filled: given.data } : checked;
}

/** Maximum characters of a name in the ids of forms. */
const MAX_ID = 64;

async function formAnswer(turn: FormTurn, { read }: FormOptions): Promise<ReturnType<typeof answerIn>> {
  const given = answerIn(turn);
  if (given !== undefined || read === undefined) return given;
  const data = await read(turn.text);
  return data === undefined ? undefined : { data };
}

async function check(schema: FormSchema, answer: JsonValue | undefined): Promise<Checked> {
  if (answer === undefined) return { violations: [NOT_READ] };
  return isBounded(answer) ? checkAnswer(schema, answer) : { violations: [TOO_LARGE] };
}

/** Returns the value of a stored answer. @throws FormDeclined, or an Error if the schema has changed */
async function storedValue(id: string, schema: FormSchema, stored: StoredAnswer): Promise<unknown> {
  if ("declined" in stored) throw new FormDeclined();
  const checked = await checkAnswer(schema, stored.answer);
  if ("value" in checked) return checked.value;
  const why = checked.violations.map(violationText).join("; ");
  throw new Error(`The stored answer of the form "${id}" does not match its current schema: ${why}`);
}
