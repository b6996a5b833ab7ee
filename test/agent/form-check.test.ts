import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { checkAnswer } from "../../src/agent/form-check.js";
import { type FormSchema, jsonSchemaOf } from "../../src/agent/schema.js";

/** A field in every notation, values that fit it, and values that do not. */
interface Field {
  readonly zod: z.ZodType;
  readonly valibot: v.GenericSchema;
  readonly arktype: string;
  readonly json: JsonObject;
  readonly right: fc.Arbitrary<JsonValue>;
  readonly wrong: fc.Arbitrary<JsonValue>;
}

const text = fc.string({ minLength: 1, maxLength: 8 }).map((chars) => `t${chars}`);
const fields: Readonly<Record<string, Field>> = {
  text: {
    zod: z.string().min(1),
    valibot: v.pipe(v.string(), v.minLength(1)),
    arktype: "string > 0",
    json: { type: "string", minLength: 1 },
    right: text,
    wrong: fc.oneof(fc.integer(), fc.boolean(), fc.constant(null)),
  },
  number: {
    zod: z.number().min(0),
    valibot: v.pipe(v.number(), v.minValue(0)),
    arktype: "number >= 0",
    json: { type: "number", minimum: 0 },
    right: fc.double({ min: 0, max: 1e6, noNaN: true }).map((value) => value || 0),
    wrong: fc.oneof(fc.integer({ max: -1 }), text, fc.boolean(), fc.constant(null)),
  },
  flag: {
    zod: z.boolean(),
    valibot: v.boolean(),
    arktype: "boolean",
    json: { type: "boolean" },
    right: fc.boolean(),
    wrong: fc.oneof(fc.integer(), text, fc.constant(null)),
  },
  choice: {
    zod: z.enum(["a", "b"]),
    valibot: v.picklist(["a", "b"]),
    arktype: "'a' | 'b'",
    json: { enum: ["a", "b"] },
    right: fc.constantFrom("a", "b"),
    wrong: fc.oneof(text, fc.integer(), fc.constant(null)),
  },
  list: {
    zod: z.array(z.string()),
    valibot: v.array(v.string()),
    arktype: "string[]",
    json: { type: "array", items: { type: "string" } },
    right: fc.array(text, { maxLength: 4 }),
    wrong: fc.oneof(fc.array(fc.integer(), { minLength: 1 }), text, fc.constant(null)),
  },
};

const kinds = Object.keys(fields);

/** A form: the kind of each field, and whether it has to be filled in. */
const form = fc.dictionary(
  fc.constantFrom("one", "two", "three", "four"),
  fc.record({ kind: fc.constantFrom(...kinds), required: fc.boolean() }),
  { minKeys: 1 },
);
type Form = Readonly<Record<string, { readonly kind: string; readonly required: boolean }>>;

function fieldOf(form: Form, name: string): Field {
  return fields[form[name]?.kind ?? ""] as Field;
}

/** The same form in every notation. */
function schemasOf(form: Form): FormSchema[] {
  const each = <T>(map: (field: Field, required: boolean) => T): Record<string, T> =>
    Object.fromEntries(Object.entries(form).map(([name, { required }]) => [name, map(fieldOf(form, name), required)]));
  const required = Object.keys(form).filter((name) => form[name]?.required);
  const definition = Object.fromEntries(
    Object.keys(form).map((name) => [form[name]?.required ? name : `${name}?`, fieldOf(form, name).arktype]),
  );
  return [
    z.object(each((field, needed) => (needed ? field.zod : field.zod.optional()))),
    toStandardJsonSchema(v.object(each((field, needed) => (needed ? field.valibot : v.optional(field.valibot))))),
    type(definition as Record<string, "string">) as unknown as FormSchema,
    { type: "object", properties: each((field) => field.json), required },
  ];
}

const filled = form.chain((drawn) => {
  const answer = fc.record(Object.fromEntries(Object.keys(drawn).map((name) => [name, fieldOf(drawn, name).right])), {
    requiredKeys: Object.keys(drawn).filter((name) => drawn[name]?.required),
  });
  return fc.record({ form: fc.constant<Form>(drawn), answer: answer as fc.Arbitrary<JsonObject> });
});

describe("checkAnswer()", () => {
  it("returns every valid answer as it is, whatever the schema is written in", async () => {
    await fc.assert(
      fc.asyncProperty(filled, async ({ form, answer }) => {
        for (const schema of schemasOf(form)) expect(await checkAnswer(schema, answer)).toEqual({ value: answer });
      }),
      { numRuns: 40 },
    );
  });

  it("returns the same for the JSON Schema that clients get", async () => {
    await fc.assert(
      fc.asyncProperty(filled, async ({ form, answer }) => {
        for (const schema of schemasOf(form)) {
          expect(await checkAnswer(jsonSchemaOf(schema), answer)).toEqual({ value: answer });
        }
      }),
      { numRuns: 20 },
    );
  });

  it("takes fields that a client rendered as texts", async () => {
    await fc.assert(
      fc.asyncProperty(filled, async ({ form, answer }) => {
        const rendered = (value: JsonValue): JsonValue => (typeof value === "object" ? value : String(value));
        const texts = Object.entries(answer).map(([name, value]) => [name, rendered(value)]);
        // People do not type numbers with an exponent, as JavaScript writes some.
        fc.pre(texts.every(([, value]) => typeof value !== "string" || !/^\d.*e/.test(value)));
        const empty = Object.keys(form).filter((name) => answer[name] === undefined);
        const said = { ...Object.fromEntries(texts), ...Object.fromEntries(empty.map((name) => [name, ""])) };
        for (const schema of schemasOf(form)) expect(await checkAnswer(schema, said)).toEqual({ value: answer });
      }),
      { numRuns: 40 },
    );
  });

  it("takes no text for a number that is too large for one", async () => {
    const digits = "9".repeat(400);
    const schema = { type: "object", properties: { count: { type: "integer" } } };
    expect(await checkAnswer(schema, { count: digits })).toMatchObject({ violations: [{ field: "count" }] });
  });

  it("names the wrong field and no other", async () => {
    const spoilt = filled.chain(({ form, answer }) =>
      fc
        .constantFrom(...Object.keys(form))
        .chain((name) =>
          fieldOf(form, name).wrong.map((wrong) => ({ form, name, answer: { ...answer, [name]: wrong } })),
        ),
    );
    await fc.assert(
      fc.asyncProperty(spoilt, async ({ form, name, answer }) => {
        for (const schema of schemasOf(form)) {
          const checked = await checkAnswer(schema, answer);
          if (!("violations" in checked)) throw new Error(`${JSON.stringify(answer)} was taken`);
          expect(checked.violations.length).toBeGreaterThan(0);
          for (const { field } of checked.violations) expect(field === name || field.startsWith(`${name}[`)).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("names required fields that are missing, and fields that do not exist", async () => {
    const schema = {
      type: "object",
      properties: { "a/b": { type: "object", properties: { c: {} }, required: ["c"], additionalProperties: false } },
      required: ["a/b"],
    };
    expect(await checkAnswer(schema, {})).toEqual({ violations: [{ field: "a/b", description: "is required" }] });
    expect(await checkAnswer(schema, { "a/b": { d: 1 } })).toEqual({
      violations: [
        { field: "a/b.c", description: "is required" },
        { field: "a/b.d", description: "is not a field of the form" },
      ],
    });
  });

  it("checks formats of a JSON Schema and ignores those that it does not know", async () => {
    const schema = { properties: { day: { type: "string", format: "date" }, amount: { format: "money" } } };
    expect(await checkAnswer(schema, { day: "2025-02-28", amount: "1" })).toHaveProperty("value");
    expect(await checkAnswer(schema, { day: "2025-02-30" })).toEqual({
      violations: [{ field: "day", description: 'must match format "date"' }],
    });
  });

  it("keeps an own member named __proto__ away from prototypes", async () => {
    const answer = JSON.parse('{ "__proto__": { "polluted": true }, "n": "1" }') as JsonObject;
    const checked = await checkAnswer({ properties: { n: { type: "number" } } }, answer);
    expect(Object.getOwnPropertyNames((checked as { value: object }).value).toSorted()).toEqual(["__proto__", "n"]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("refuses JSON Schemas that are not valid, refer to others or are asynchronous", async () => {
    await expect(checkAnswer({ type: "nothing" }, 1)).rejects.toThrow(/schema is invalid/);
    await expect(checkAnswer({ $ref: "https://schemas.example/a.json" }, 1)).rejects.toThrow(/can't resolve reference/);
    await expect(checkAnswer({ $async: true }, 1)).rejects.toThrow(/cannot be asynchronous/);
  });

  it("forgets compiled schemas when there are many", async () => {
    for (let n = 0; n < 120; n++)
      expect(await checkAnswer({ $id: "urn:example:same", const: n }, n)).toEqual({ value: n });
  });
});
