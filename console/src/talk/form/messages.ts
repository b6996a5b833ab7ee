import { talkWords } from "../../texts/talk.js";

const { form } = talkWords;

const isNumber = (value: unknown): value is number => typeof value === "number";

/** Sentences for the keywords of JSON Schema, from the keyword's value. */
const sentences: Readonly<Record<string, (value: unknown) => string>> = {
  required: () => form.required,
  format: (value) => (typeof value === "string" ? form.format(value) : form.invalid),
  pattern: () => form.pattern,
  minLength: (value) => (value === 1 ? form.required : isNumber(value) ? form.shortest(value) : form.invalid),
  maxLength: (value) => (isNumber(value) ? form.longest(value) : form.invalid),
  minimum: form.atLeast,
  maximum: form.atMost,
  exclusiveMinimum: form.more,
  exclusiveMaximum: form.less,
  multipleOf: form.multiple,
  minItems: (value) => (isNumber(value) ? form.fewest(value) : form.invalid),
  maxItems: (value) => (isNumber(value) ? form.most(value) : form.invalid),
  uniqueItems: () => form.unique,
  enum: () => form.oneOf,
  const: () => form.invalid,
  type: (value) => form.type(Array.isArray(value) ? value.join(", ") : String(value ?? "")),
  false: () => form.unknownField,
  additionalProperties: () => form.unknownField,
};

/** Returns the sentence of an error in the user's words. */
export function messageFor(keyword: string, value: unknown): string {
  return sentences[keyword]?.(value) ?? form.invalid;
}
