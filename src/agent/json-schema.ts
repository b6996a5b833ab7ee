import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Violation } from "../core/error.js";
import { lazy } from "../core/lazy.js";
import { evictOldest } from "../core/maps.js";
import { type Checked, fieldAt } from "./schema.js";

/**
 * Validation by JSON Schema. Loaded with the first form that needs it. Compiling a schema generates code, so runtimes
 * without code generation, such as workerd, need a Standard Schema.
 */

/** Compiled schemas, by their text: authors may write a schema inside `execute`. */
const compiled = new Map<string, ValidateFunction>();
const MAX_COMPILED = 100;

/**
 * All violations are wanted, so one bad field does not hide another; the answer's bounds limit their number. Unknown
 * keywords and formats are annotations.
 */
const options: Options = { allErrors: true, strict: false, logger: false };

/** Checks a value by a schema. */
export function checkJson(schema: JsonObject, value: JsonValue): Checked {
  const validate = validatorOf(schema);
  if (validate(value)) return { value };
  return { violations: (validate.errors ?? []).map(violationOf) };
}

/** An instance for each draft. They only check schemas by their meta-schema, whose compilation takes 40 ms. */
const checkers = { draft07: lazy(() => new Ajv(options)), draft2020: lazy(() => new Ajv2020(options)) };

/** Returns the validator of a schema. @throws Error for a schema that is not valid */
export function validatorOf(schema: JsonObject): ValidateFunction {
  const text = JSON.stringify(schema);
  const known = compiled.get(text);
  if (known !== undefined) return known;
  if (schema.$async === true) throw new Error("The JSON Schema of a form cannot be asynchronous.");
  const isDraft07 = String(schema.$schema).includes("draft-07");
  checkers[isDraft07 ? "draft07" : "draft2020"]().validateSchema(schema, true);
  // An instance for each schema: they may have the same `$id`, and one that is evicted leaves nothing behind.
  const own = { ...options, meta: false, validateSchema: false };
  const ajv = isDraft07 ? new Ajv(own) : new Ajv2020(own);
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  evictOldest(compiled, MAX_COMPILED);
  compiled.set(text, validate);
  return validate;
}

function violationOf({ instancePath, keyword, params, message = "is not valid" }: ErrorObject): Violation {
  const path = instancePath.split("/").slice(1).map(unescaped);
  if (keyword === "required") return { field: fieldAt([...path, params.missingProperty]), description: "is required" };
  if (keyword === "additionalProperties") {
    return { field: fieldAt([...path, params.additionalProperty]), description: "is not a field of the form" };
  }
  const allowed = keyword === "enum" ? `: ${params.allowedValues.join(", ")}` : "";
  return { field: fieldAt(path), description: `${message}${allowed}` };
}

/** A segment of a JSON Pointer (RFC 6901). */
function unescaped(segment: string): string | number {
  return /^\d+$/.test(segment) ? Number(segment) : segment.replaceAll("~1", "/").replaceAll("~0", "~");
}
