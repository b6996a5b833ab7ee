import { type Schema, Validator } from "@cfworker/json-schema";
import {
  type CustomValidator,
  type ErrorTransformer,
  type RJSFSchema,
  type RJSFValidationError,
  toErrorSchema,
  type ValidationData,
  type ValidatorType,
} from "@rjsf/utils";
import { messageFor } from "./messages.js";
import { prepared } from "./prepared.js";

/**
 * Checks forms by `@cfworker/json-schema`. The usual validator of RJSF, ajv, compiles schemas by eval, which the page's
 * policy forbids.
 */
class FormValidator implements ValidatorType {
  readonly #validators = new WeakMap<RJSFSchema, Validator>();

  validateFormData(
    formData: unknown,
    schema: RJSFSchema,
    _custom?: CustomValidator,
    transformErrors?: ErrorTransformer,
  ): ValidationData<unknown> {
    const { errors: found = [] } = this.rawValidation<RJSFValidationError>(schema, formData);
    const errors = transformErrors === undefined ? found : transformErrors(found);
    return { errors, errorSchema: toErrorSchema(errors) };
  }

  isValid(schema: RJSFSchema, formData: unknown, rootSchema: RJSFSchema): boolean {
    try {
      const { $defs, definitions } = rootSchema;
      const whole = { ...schema, ...($defs && { $defs }), ...(definitions && { definitions }) };
      return new Validator(prepared(whole) as Schema, "2020-12").validate(withoutGaps(formData)).valid;
    } catch {
      return false;
    }
  }

  rawValidation<Result>(schema: RJSFSchema, formData?: unknown): { errors?: Result[]; validationError?: Error } {
    try {
      const known = this.#validators.get(schema);
      const validator = known ?? new Validator(prepared(schema) as Schema, "2020-12", false);
      if (known === undefined) this.#validators.set(schema, validator);
      const { errors } = validator.validate(withoutGaps(formData));
      return { errors: errors.flatMap((error) => errorOf(error, schema)) as Result[] };
    } catch (error) {
      // A schema that this validator does not understand is checked by its agent.
      return { errors: [], validationError: error as Error };
    }
  }
}

/** The errors of schemas around others, which say the same again. */
const around = new Set([
  "properties",
  "items",
  "prefixItems",
  "additionalProperties",
  "allOf",
  "$ref",
  "if",
  "then",
  "else",
]);

interface OutputUnit {
  readonly keyword: string;
  readonly keywordLocation: string;
  readonly instanceLocation: string;
  readonly error: string;
}

function errorOf(unit: OutputUnit, schema: RJSFSchema): readonly RJSFValidationError[] {
  const { keyword, keywordLocation, instanceLocation, error } = unit;
  if (/\/(?:anyOf|oneOf|not)\/./.test(keywordLocation)) return [];
  const isUnknown = keyword === "false" || (keyword === "additionalProperties" && /additional/.test(error));
  if (around.has(keyword) && !isUnknown) return [];
  const place = pathOf(instanceLocation);
  const missing = keyword === "required" ? /"(.*)"/.exec(error)?.[1] : undefined;
  const path = missing === undefined ? place : [...place, missing];
  const message = messageFor(keyword, valueAt(schema, keywordLocation));
  const property = path.map((each) => `.${each}`).join("");
  return [{ name: keyword, message, property, params: {}, stack: message, schemaPath: keywordLocation }];
}

function pathOf(location: string): string[] {
  return location
    .split("/")
    .slice(1)
    .map((each) => decodeURIComponent(each).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value of a keyword, such as the 5 of `minLength`; undefined where references lead elsewhere. */
function valueAt(schema: RJSFSchema, location: string): unknown {
  let at: unknown = schema;
  for (const name of pathOf(location)) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

/** Leaves out fields without a value, which JSON cannot contain. */
export function withoutGaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutGaps(each) ?? null);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (each === undefined ? [] : [[name, withoutGaps(each)]])),
  );
}

export const validator: ValidatorType = new FormValidator();
