import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { lazyImport } from "../core/lazy.js";
import { isJsonObject } from "../wire/json-struct.js";
import { type Checked, type FormSchema, fieldAt, isStandard, jsonSchemaOf } from "./schema.js";

const jsonSchemas = lazyImport(() => import("./json-schema.js"));

/** Checks a schema before its form is asked. @throws Error if it has no JSON Schema, or is not a valid one */
export async function checkSchema(schema: FormSchema): Promise<void> {
  const json = jsonSchemaOf(schema);
  if (!isStandard(schema)) (await jsonSchemas()).validatorOf(json);
}

/**
 * Checks an answer against a schema. Texts in fields that are numbers or booleans are converted, because many clients
 * render each field as a text; an empty text leaves an optional field out.
 */
export async function checkAnswer(schema: FormSchema, answer: JsonValue): Promise<Checked> {
  const json = jsonSchemaOf(schema);
  const value = withTypes(answer, json);
  if (!isStandard(schema)) return (await jsonSchemas()).checkJson(json, value);
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return { value: result.value };
  return { violations: result.issues.map(({ path, message }) => ({ field: fieldAt(path), description: message })) };
}

/** Converts the texts of fields that have another type. */
function withTypes(answer: JsonValue, { properties, required }: JsonObject): JsonValue {
  if (!isJsonObject(answer) || !isJsonObject(properties)) return answer;
  const needed: readonly JsonValue[] = Array.isArray(required) ? required : [];
  const fields = Object.entries(answer).flatMap(([name, value]) => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isJsonObject(field) || typeof value !== "string") return [[name, value]];
    return value === "" && !needed.includes(name) ? [] : [[name, typed(value, field.type)]];
  });
  return Object.fromEntries(fields) as JsonObject;
}

function typed(text: string, type: unknown): JsonValue {
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  if (type !== "number" && type !== "integer") return text;
  const number = /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  // A text of enough digits becomes Infinity, which validators take for a number and JSON cannot hold.
  return Number.isFinite(number) ? number : text;
}
