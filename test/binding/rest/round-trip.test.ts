import { create, type DescMessage, equals, type Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { createRestBinding } from "../../../src/binding/rest/binding.js";
import { accessTo } from "../../../src/wire/field-rules.js";
import { expandPath } from "../../../src/wire/path-template.js";
import { queryWriter, textLeafOf } from "../../../src/wire/query.js";
import { type Route, routesOf } from "../../../src/wire/routes.js";
import { scaled } from "../../support/soak.js";
import { anyMessage } from "../../wire/arbitrary.js";
import { protocols, send, serve } from "./harness.js";

/** Values with a meaning in paths or queries, and values of several bytes per character. */
const value = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(..."%/:?#&=+;,.~ ä😀\u0000\u007f\\\"'"), minLength: 1, maxLength: 12 }),
  fc.constantFrom(
    ":cancel",
    "a:subscribe",
    "..",
    ".",
    "%2F",
    "%",
    "tasks/x",
    "message:send",
    "__proto__",
    "null",
    "-1",
  ),
);

/** First segments that are literals of other routes cannot be tenants in a path. */
const literals = new Set(["tasks", "extendedAgentCard"]);

/** A request that fits into a path and a query, with its target. */
function requestTo(route: Route): fc.Arbitrary<{ route: Route; request: Message; target: string }> {
  const { input } = route.method;
  const inPath = fc.array(value, { minLength: route.fields.length, maxLength: route.fields.length });
  return fc.tuple(anyMessage(input), inPath).map(([message, values]) => {
    const request = onlyText(input, message);
    for (const [i, field] of route.fields.entries()) accessTo(field).set(request, values[i]);
    const path = expandPath(
      route.template,
      Object.fromEntries(route.fields.map((field, i) => [field.name, values[i] ?? ""])),
    );
    return { route, request, target: `${path}?${queryWriter(input)(request, route.fields)}` };
  });
}

/** The part of a message that has a text form: whole milliseconds, and no empty texts in lists. */
function onlyText(desc: DescMessage, message: Message): Message {
  const result = create(desc);
  for (const field of desc.fields) {
    const { get, set } = accessTo(field);
    const held = get(message);
    if (held === undefined || field.fieldKind === "map" || textLeafOf(field) === undefined) continue;
    if (field.message === undefined) set(result, held);
    else set(result, { ...(held as object), nanos: Math.floor((held as { nanos: number }).nanos / 1e6) * 1e6 });
  }
  return result;
}

describe("a request without a body", () => {
  it.each(protocols)("arrives over %s as it was sent, whatever its values are", async (protocol) => {
    const served = await serve(createRestBinding, { protocol });
    const routes = routesOf(A2AService).filter(({ hasBody }) => !hasBody);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...routes).chain(requestTo), async ({ route, request, target }) => {
        const { tenant = "" } = request as { tenant?: string };
        fc.pre(!(route.fields[0]?.name === "tenant" && literals.has(tenant)));
        served.calls.length = 0;
        const { text } = await send(served, { verb: route.verb, path: target });
        const [call] = served.calls;
        if (call === undefined) throw new Error(`the request was refused: ${text}`);
        expect(call.method.name).toBe(route.method.name);
        expect(equals(route.method.input, call.request, request)).toBe(true);
      }),
      { numRuns: scaled(50, 150) },
    );
  });
});
