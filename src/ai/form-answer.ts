import type { JsonValue } from "@bufbuild/protobuf";
import { type Turn, turnWith } from "../agent/agent.js";
import { checkAnswer, checkSchema } from "../agent/check-answer.js";
import type { AgentEvent } from "../agent/event.js";
import { type FormSchema, jsonSchemaOf, type StandardSchema } from "../agent/schema.js";
import { parsedJson } from "../wire/parsed-json.js";

/** An answer for the model: the form's valid data, or the user's words. */
export type FormOrWords = { readonly data: unknown } | { readonly said: string };

/** Asks for a form by `turn.form`. Accepts a text that does not fit the form too, as the user's words for the model. */
export async function* formOrWords(
  turn: Turn,
  form: FormSchema,
  question: string,
): AsyncGenerator<AgentEvent, FormOrWords, undefined> {
  await checkSchema(form);
  const read = (text: string): string | undefined => (text.trim() === "" ? undefined : text);
  return yield* withWords(turn).form(wordsOr(form), { text: question, read });
}

/** Keeps texts such as "5.0", which are also JSON, as words: parsing them as numbers would change the user's text. */
function withWords(turn: Turn): Turn {
  const value = parsedJson(turn.text);
  const isWords = value !== undefined && (typeof value !== "object" || value === null);
  return isWords ? turnWith(turn, { text: JSON.stringify(turn.text) }) : turn;
}

function wordsOr(form: FormSchema): StandardSchema<unknown, FormOrWords> {
  return {
    "~standard": {
      version: 1,
      vendor: "parley",
      jsonSchema: { input: () => jsonSchemaOf(form) },
      validate: async (answer) => {
        const value = answer as JsonValue;
        const text = typeof value === "string" ? value : undefined;
        const inText = text === undefined ? undefined : parsedJson(text);
        const fromText = inText === undefined ? undefined : await checkAnswer(form, inText);
        if (fromText !== undefined && "value" in fromText) return { value: { data: fromText.value } };
        const checked = await checkAnswer(form, value);
        if ("value" in checked) return { value: { data: checked.value } };
        if (text !== undefined) return { value: { said: text } };
        return {
          issues: checked.violations.map(({ field, description }) => ({ message: description, path: [field] })),
        };
      },
    },
  };
}
