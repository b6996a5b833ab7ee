import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import type { Driver, Reply } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { scaled } from "../support/soak.js";
import { patience } from "./run.js";
import { setups } from "./setups.js";
import { serve } from "./worlds.js";

let drivers: readonly Driver[] = [];
let close = async (): Promise<void> => {};

beforeAll(async () => {
  const { server, address } = await serve(setups.main, memoryStore());
  drivers = bindings.map((binding) => binding.connect(address));
  close = async () => {
    for (const driver of drivers) driver.close();
    await server.close();
  };
});
afterAll(() => close());

/** Texts, including characters that are special in a path, a query, a header or a line of an event stream. */
const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.constantFrom(
    "",
    " ",
    "a b",
    "ü",
    "%",
    "%2F",
    "a/b",
    "..",
    ":cancel",
    "a:subscribe",
    "?x=1",
    "#",
    "\r\n\r\ndata: x",
    "null",
    "🤖",
    "\u0000",
    "\u2028",
  ),
);
const id = fc.oneof(text, fc.string({ minLength: 250, maxLength: 260 }));
const whole = fc.oneof(fc.integer({ min: -3, max: 105 }), fc.integer());
const metadata = fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }) as fc.Arbitrary<JsonObject>;
const optional = <T>(members: Record<string, fc.Arbitrary<T>>): fc.Arbitrary<JsonObject> =>
  fc.record(members, { requiredKeys: [] }) as unknown as fc.Arbitrary<JsonObject>;

const part = optional<JsonValue | undefined>({
  filename: text,
  mediaType: fc.constantFrom("", "text/plain", "application/json", "image/png", "TEXT/PLAIN; charset=utf-8"),
  metadata,
}).chain((rest) =>
  fc
    .oneof(
      text.map((value) => ({ text: value })),
      fc.jsonValue({ maxDepth: 2 }).map((data) => ({ data: data as JsonValue })),
      fc.base64String({ maxLength: 8 }).map((raw) => ({ raw })),
      text.map((url) => ({ url })),
      fc.constant({}),
    )
    .map((content): JsonObject => ({ ...rest, ...content })),
);

const message = optional<JsonValue | undefined>({
  messageId: id,
  contextId: id,
  taskId: fc.oneof(fc.constant(""), id),
  role: fc.constantFrom("ROLE_USER", "ROLE_USER", "ROLE_AGENT", "ROLE_UNSPECIFIED"),
  parts: fc.array(part, { maxLength: 3 }),
  metadata,
  extensions: fc.array(text, { maxLength: 2 }),
  referenceTaskIds: fc.array(text, { maxLength: 2 }),
});

const requests: readonly (readonly [rpc: string, fc.Arbitrary<JsonObject>])[] = [
  [
    "SendMessage",
    optional<JsonValue | undefined>({
      message: message.map(told),
      configuration: optional<JsonValue | undefined>({
        historyLength: whole,
        acceptedOutputModes: fc.array(text, { maxLength: 2 }),
      }),
      metadata,
    }),
  ],
  ["GetTask", fc.record({ id: id.filter((value) => value !== ""), historyLength: whole })],
  ["CancelTask", fc.record({ id: id.filter((value) => value !== ""), metadata })],
  [
    "ListTasks",
    optional<JsonValue | undefined>({
      contextId: id.map((value) => `none ${value}`),
      status: fc.constantFrom("TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_UNSPECIFIED"),
      // Protobuf treats 0 as unset, and JSON does not (`wire/field-rules.ts`).
      pageSize: whole.filter((size) => size !== 0),
      pageToken: text,
      historyLength: whole,
      includeArtifacts: fc.boolean(),
      statusTimestampAfter: fc
        .date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31") })
        .map((date) => date.toISOString()),
    }).map((request): JsonObject => ({ contextId: "none", ...request })),
  ],
];

/** Makes the agent return the received parts, if the request is valid. */
function told(json: JsonObject): JsonObject {
  const parts = json.parts as JsonObject[] | undefined;
  return parts === undefined || parts.length === 0
    ? json
    : { ...json, parts: [{ text: "turn" }, ...parts.map(untexted)] };
}

/** Moves the text into data, because the agent reads the text of all parts as its command. */
function untexted({ text, ...rest }: JsonObject): JsonObject {
  return text === undefined ? rest : { ...rest, data: text };
}

it.each(requests)(
  "%s has the same answer over every binding, whatever is asked [SRV-GEN-04 SRV-GEN-05 SRV-ERR-19]",
  async (rpc, arbitrary) => {
    await fc.assert(
      fc.asyncProperty(arbitrary, async (request) => {
        const replies = await Promise.all(drivers.map(async (driver) => comparable(await driver.call(rpc, request))));
        for (const [i, reply] of replies.entries())
          expect({ over: drivers[i]?.name, ...reply }).toEqual({ over: drivers[i]?.name, ...replies[0] });
      }),
      { numRuns: scaled(20, 40) },
    );
  },
  patience,
);

/** A reply without the parts that differ between calls. */
function comparable({ message, error }: Reply): object {
  if (error !== undefined) return { message: error.message, details: error.details };
  return JSON.parse(
    JSON.stringify(message, (name, value) =>
      ["id", "taskId", "contextId", "artifactId", "timestamp"].includes(name) ? `some ${name}` : value,
    ),
  ) as object;
}
