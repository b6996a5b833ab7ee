import type { ToolSet } from "ai";
import type { FormSchema } from "../agent/schema.js";
import { membersOf } from "../core/members.js";
import { anything, assertOptions, aText, type OptionChecks } from "../core/options.js";

/** Options of `askUser`. */
export interface AskUserOptions {
  /** Tells the model when to ask. */
  readonly description?: string;
  /**
   * The form of the answer, as for `turn.form`. The model gets the valid answer as JSON. If the user answers with any
   * other text, the model gets `{ said: text }` instead, so that it can ask again. Default: any message.
   */
  readonly form?: FormSchema;
}

/** Tells the model about answers that do not fit the form. */
const IN_WORDS =
  "The user fills in a form, which is the result, or answers in words: then the result is their text as `said`.";

const checks: OptionChecks<AskUserOptions> = { description: aText(), form: anything() };

const formKey: unique symbol = Symbol("form");

const input = {
  type: "object",
  properties: { question: { type: "string", description: "The question for the user." } },
  required: ["question"],
  additionalProperties: false,
};

/**
 * Returns a tool by which the model asks the user: its question becomes INPUT_REQUIRED, and the user's next message is
 * the tool's result. Any tool without `execute` asks the user as well.
 *
 * @throws TypeError if an option is invalid
 */
export function askUser(options: AskUserOptions = {}): ToolSet[string] {
  assertOptions("askUser(options)", options, checks);
  const { description = "Asks the user a question, if something that only the user knows is missing.", form } = options;
  if (form === undefined) return { description, inputSchema: questionSchema };
  return { description: `${description} ${IN_WORDS}`, inputSchema: questionSchema, ...{ [formKey]: form } };
}

/** Returns the form of a tool by which the model asks the user. */
export function formOf(tool: ToolSet[string]): FormSchema | undefined {
  return (tool as { readonly [formKey]?: FormSchema })[formKey];
}

/** A Standard Schema, so that the AI SDK is not imported for it. */
const questionSchema = {
  "~standard": {
    version: 1,
    vendor: "parley",
    validate: (value: unknown): { value: { question: string } } | { issues: { message: string }[] } =>
      isQuestion(value) ? { value } : { issues: [{ message: "question is missing" }] },
    jsonSchema: { input: () => input, output: () => input },
  },
} as const;

function isQuestion(value: unknown): value is { question: string } {
  return typeof membersOf(value).question === "string";
}
