import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Violation } from "../core/error.js";
import { membersOf } from "../core/members.js";
import { described } from "../core/options.js";
import { isJsonObject } from "../wire/json-struct.js";

/**
 * Schemas of forms. They are the author's own; the answers that they check are the user's.
 */

/**
 * A schema of a library that implements Standard Schema v1 (zod, valibot, arktype). A form needs its JSON Schema too,
 * which the library offers as `~standard.jsonSchema` (Standard JSON Schema).
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> };
  };
}

/** Result of a validation: a value, or issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One reason why a value is not valid. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A JSON Schema (draft 2020-12, or 07 if its `$schema` says so), validated with ajv. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Schema of a form: of a library, or a JSON Schema. */
export type FormSchema = StandardSchema | JsonSchema;

/**
 * Type of a form's answer: the output of a Standard Schema, or derived from `type`, `properties`, `required`, `items`,
 * `enum` and `const` of a JSON Schema. For a JSON Schema in a variable, write `as const`.
 */
export type FormAnswer<Schema> =
  Schema extends StandardSchema<unknown, infer Output> ? Output : JsonSchemaValue<Schema>;

type JsonSchemaValue<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly type: "string" }
      ? string
      : Schema extends { readonly type: "number" | "integer" }
        ? number
        : Schema extends { readonly type: "boolean" }
          ? boolean
          : Schema extends { readonly type: "array"; readonly items: infer Items }
            ? JsonSchemaValue<Items>[]
            : Schema extends { readonly properties: infer Fields }
              ? JsonSchemaFields<Fields, RequiredOf<Schema>>
              : JsonValue;

type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Names)[] } ? Names : never;

type JsonSchemaFields<Fields, Required> = {
  -readonly [Name in keyof Fields as Name extends Required ? Name : never]: JsonSchemaValue<Fields[Name]>;
} & {
  -readonly [Name in keyof Fields as Name extends Required ? never : Name]?: JsonSchemaValue<Fields[Name]>;
};

/** Result of checking an answer. */
export type Checked = { readonly value: unknown } | { readonly violations: readonly Violation[] };

/** Limits of the violations that a form shows, and of the answers that it reads. */
export const formBounds = {
  maxViolations: 50,
  maxDescription: 500,
  /** Characters of an answer as JSON. */
  maxAnswer: 65_536,
  maxLevels: 16,
} as const;

/** Returns the JSON Schema of a form. @throws TypeError if the schema has none */
export function jsonSchemaOf(schema: FormSchema): JsonObject {
  const json = isStandard(schema) ? converted(schema) : schema;
  let copy: JsonValue | undefined;
  try {
    // Also drops members that JSON cannot have, such as marks of libraries.
    copy = JSON.parse(JSON.stringify(json));
  } catch {
    // Not JSON: rejected below.
  }
  if (isJsonObject(copy)) return copy;
  throw new TypeError(`A form takes a Standard Schema or a JSON Schema, not ${described(schema)}.`);
}

/** Writes a path like `items[0].amount`. */
export function fieldAt(path: StandardIssue["path"]): string {
  let field = "";
  for (const segment of path ?? []) {
    const key = typeof segment === "object" ? segment.key : segment;
    if (typeof key === "number") field += `[${key}]`;
    else field += field === "" ? String(key) : `.${String(key)}`;
  }
  return field;
}

/** True for a Standard Schema. Those of arktype are functions. */
export function isStandard(schema: FormSchema): schema is StandardSchema {
  return typeof membersOf(membersOf(schema)["~standard"]).validate === "function";
}

function converted({ "~standard": { vendor, jsonSchema } }: StandardSchema): unknown {
  if (jsonSchema !== undefined) return jsonSchema.input({ target: "draft-2020-12" });
  throw new TypeError(
    `The form's schema (${vendor}) has no JSON Schema for clients: it lacks \`~standard.jsonSchema\`. ` +
      (vendor === "valibot"
        ? "Pass it through `toStandardJsonSchema` of @valibot/to-json-schema."
        : "Use a version of the library that implements Standard JSON Schema (zod 4.2, arktype 2.1.28)."),
  );
}
