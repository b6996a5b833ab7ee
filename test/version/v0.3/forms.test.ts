import { create, type DescMessage } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as v1 from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../../src/core/error.js";
import { schemaForm } from "../../../src/version/v0.3/json-form.js";
import { restForm } from "../../../src/version/v0.3/rest-form.js";
import type { JsonForm } from "../../../src/wire/json-form.js";
import { answerReader, jsonReader } from "../../../src/wire/json-reader.js";
import { jsonWriter } from "../../../src/wire/json-writer.js";
import { jsonPieces, measuredJson } from "../../../src/wire/large/large.js";
import { cacheForms } from "../../../src/wire/serialization-cache.js";
import { scaled } from "../../support/soak.js";
import {
  artifactUpdate,
  message,
  type Pair,
  pushConfig,
  sayable,
  sendParams,
  statusUpdate,
  task,
  withoutLosses,
} from "./arbitrary.js";

const schema = { hasReferences: true, hasPages: false, fillsStatus: true };
const rest = { hasReferences: false, hasPages: true, fillsStatus: false };
const both = [
  ["JSON-RPC", schemaForm, schema],
  ["HTTP+JSON", restForm, rest],
] as const;

/** Types of answers and requests that both dialects have. */
const types: readonly DescMessage[] = [
  v1.TaskSchema,
  v1.MessageSchema,
  v1.SendMessageResponseSchema,
  v1.StreamResponseSchema,
  v1.SendMessageRequestSchema,
];
/** Types whose fields HTTP+JSON puts into its paths or names differently. */
const rpcTypes: readonly DescMessage[] = [
  v1.TaskPushNotificationConfigSchema,
  v1.ListTaskPushNotificationConfigsResponseSchema,
  v1.GetTaskRequestSchema,
  v1.CancelTaskRequestSchema,
  v1.SubscribeToTaskRequestSchema,
  v1.GetTaskPushNotificationConfigRequestSchema,
  v1.DeleteTaskPushNotificationConfigRequestSchema,
];

const cases = both.flatMap(([binding, form, dialect]) =>
  [...types, ...(form === schemaForm ? rpcTypes : [])].map((desc) => ({
    binding,
    desc,
    name: desc.name,
    form,
    dialect,
  })),
);

describe("JSON of 0.3 and messages of 1.0", () => {
  it.each(cases)(
    "$name of 1.0 comes back over $binding, but for what 0.3 has no place for",
    ({ desc, form, dialect }) => {
      const [read, write] = [answerReader(desc, form), jsonWriter(desc, form)];
      fc.assert(
        fc.property(sayable(desc), (original) => {
          expect(read(JSON.parse(write(original)))).toEqual(withoutLosses(desc, original, dialect));
        }),
        { numRuns: scaled(25, 60) },
      );
    },
  );

  it.each<[string, DescMessage, fc.Arbitrary<Pair>]>([
    ["a task", v1.TaskSchema, task],
    ["a message", v1.MessageSchema, message],
    ["an answer that is a task", v1.SendMessageResponseSchema, task],
    ["an answer that is a message", v1.SendMessageResponseSchema, message],
    ["a status-update", v1.StreamResponseSchema, statusUpdate],
    ["an artifact-update", v1.StreamResponseSchema, artifactUpdate],
    ["the params of a send", v1.SendMessageRequestSchema, sendParams],
    ["a push configuration", v1.TaskPushNotificationConfigSchema, pushConfig],
  ])("%s of 0.3 comes back through 1.0, but for what it had too little or too much of", (_name, desc, pairs) => {
    const write = jsonWriter(desc, schemaForm);
    fc.assert(
      fc.property(pairs, ({ json, expected }) => {
        for (const read of [jsonReader(desc, schemaForm), answerReader(desc, schemaForm)]) {
          expect(JSON.parse(write(read(structuredClone(json))))).toEqual(expected);
        }
      }),
      { numRuns: scaled(50, 150) },
    );
  });

  it("the params of a send mean the same in either dialect of HTTP+JSON", () => {
    const read = jsonReader(v1.SendMessageRequestSchema, restForm);
    fc.assert(
      fc.property(sendParams, ({ json }) => {
        const request = jsonReader(v1.SendMessageRequestSchema, schemaForm)(structuredClone(json));
        const proto = JSON.parse(jsonWriter(v1.SendMessageRequestSchema, restForm)(request));
        const again = read(structuredClone(proto));
        for (const { message: said } of [request, again]) if (said !== undefined) said.referenceTaskIds = [];
        expect(again).toEqual(request);
      }),
      { numRuns: scaled(40, 100) },
    );
  });
});

/** JSON in which something was put in the place of something else. */
const damaged = (pairs: fc.Arbitrary<Pair>): fc.Arbitrary<unknown> =>
  fc.tuple(pairs, fc.jsonValue(), fc.nat()).map(([{ json }, other, seed]) => {
    const copy = structuredClone(json);
    const places: [Record<string, unknown>, string][] = [];
    const collect = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        places.push([value as Record<string, unknown>, key]);
        collect(inner);
      }
    };
    collect(copy);
    const place = places[seed % Math.max(1, places.length)];
    if (place !== undefined) place[0][place[1]] = other;
    return copy;
  });

describe("what is no JSON of 0.3", () => {
  const inputs = fc.oneof(
    fc.jsonValue(),
    ...[task, message, statusUpdate, artifactUpdate, sendParams, pushConfig].map(damaged),
  );

  it.each(cases)(
    "is refused as $name over $binding with an error that says so, and never with another one",
    ({ desc, form }) => {
      const readers = [
        ["INVALID_PARAMS", jsonReader(desc, form)],
        ["INVALID_AGENT_RESPONSE", answerReader(desc, form)],
      ] as const;
      fc.assert(
        fc.property(inputs, (json) => {
          for (const [reason, read] of readers) {
            try {
              expect(read(structuredClone(json))).toMatchObject({ $typeName: desc.typeName });
            } catch (error) {
              if (!(error instanceof A2AError)) throw error;
              expect(error.reason).toBe(reason);
              expect((error.violations ?? []).length).toBeGreaterThan(0);
            }
          }
        }),
        { numRuns: scaled(25, 60) },
      );
    },
  );

  it("is refused where it is nested too deep, and not followed", () => {
    const data = JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`);
    const parts = [{ kind: "data", data }];
    for (const [, form] of both) {
      const read = jsonReader(v1.SendMessageRequestSchema, form);
      expect(() => read({ message: { messageId: "m", role: "user", parts } })).toThrow("nested too deep");
    }
  });
});

const whole = (pieces: Iterable<Uint8Array>): string => Buffer.concat([...pieces]).toString();

/** A task with texts and bytes that are longer than a piece. */
function largeTask(): v1.Task {
  const text = 'é"\u2028😀\n'.repeat(30_000);
  const contents = [
    { content: { case: "text", value: text }, metadata: { a: text.slice(0, 100) } },
    { content: { case: "raw", value: Buffer.alloc(200_000, "ab") }, filename: "a.bin", mediaType: "x/y" },
    { content: { case: "url", value: `https://a.example/${"x".repeat(100_000)}` }, filename: "a.bin" },
    { content: { case: "text", value: "short" } },
  ] as const;
  const artifacts = Array.from({ length: 2 }, (_, i) => ({ artifactId: `a${i}`, parts: contents }));
  return create(v1.TaskSchema, { id: "t", artifacts, history: [{ messageId: "m", parts: contents }] } as never);
}

describe("a large message of 0.3 in pieces", () => {
  it.each(cases)("is any $name over $binding", async ({ desc, form }) => {
    const write = jsonWriter(desc, form);
    await fc.assert(
      fc.asyncProperty(sayable(desc), async (original) => {
        expect(whole(jsonPieces(desc, original, form))).toBe(write(original));
        const { length, pieces } = await measuredJson(desc, original, form);
        expect([length, whole(pieces)]).toEqual([Buffer.byteLength(write(original)), write(original)]);
      }),
      { numRuns: 30 },
    );
  });

  it("is cut within its texts, files and addresses, in each form at once, and made once for its readers in each", () => {
    const shared = cacheForms(largeTask());
    const response = create(v1.StreamResponseSchema, { payload: { case: "task", value: shared } });
    const forms: readonly (JsonForm | undefined)[] = [undefined, schemaForm, restForm];
    const all = forms.map((form) => [...jsonPieces(v1.TaskSchema, shared, form)]);
    for (const [i, form] of forms.entries()) {
      const pieces = all[i] as Uint8Array[];
      expect(JSON.parse(whole(pieces))).toEqual(JSON.parse(jsonWriter(v1.TaskSchema, form)(largeTask())));
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(512 * 1024);
      expect(pieces.length).toBeGreaterThan(10);
      // The very same memory in an event, not a copy of it.
      const inEvent = new Set(jsonPieces(v1.StreamResponseSchema, response, form));
      expect(pieces.every((piece) => inEvent.has(piece))).toBe(true);
      expect(whole(pieces)).not.toMatch(/[\u0085\u2028\u2029]/);
    }
  });
});
