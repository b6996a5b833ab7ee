import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { createJsonRpcBinding } from "../../../src/binding/jsonrpc/binding.js";
import { createRestBinding } from "../../../src/binding/rest/binding.js";
import { scaled } from "../../support/soak.js";
import { send, serve } from "./harness.js";

const runs = { numRuns: scaled(50, 150) };
const letters = fc.string({
  unit: fc.constantFrom(
    "a",
    "/",
    ":",
    "%",
    "2",
    "F",
    "{",
    "}",
    "?",
    "=",
    "&",
    "+",
    ".",
    "tasks",
    "cancel",
    "message:send",
    "é",
  ),
  maxLength: 12,
});
/** Any path that a client can write into a request line. */
const path = letters.map((text) => `/${encodeURI(text).replaceAll("%25", "%")}`);
const word = fc.constantFrom(
  "message",
  "parts",
  "text",
  "data",
  "metadata",
  "role",
  "tenant",
  "id",
  "configuration",
  "historyLength",
  "__proto__",
  "raw",
  "url",
  "jsonrpc",
  "method",
  "params",
);
const tree = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.jsonValue({ maxDepth: 1 }),
    fc.dictionary(word, tie("node"), { maxKeys: 4, noNullPrototype: true }),
    fc.array(tie("node"), { maxLength: 3 }),
  ),
})).node;
const body = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: "binary" }),
  tree.map((value) => JSON.stringify(value)),
  tree.map((value) => JSON.stringify(value).slice(0, -1)),
);
const type = fc.constantFrom(
  "application/json",
  "application/a2a+json",
  "application/json;charset=",
  ";",
  "text/plain",
);

describe("fuzz", () => {
  it("gets well-formed answers from REST", async () => {
    const served = await serve(createRestBinding);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(path, fc.constant("/message:send"), fc.constant("/x/tasks/t/pushNotificationConfigs")),
        fc.constantFrom("GET", "POST", "DELETE", "PATCH"),
        body,
        type,
        async (where, verb, what, contentType) => {
          const { status, headers, text } = await send(served, {
            verb,
            path: where,
            // Node.js sends the body of a DELETE without its length, so the server would read it as a second, broken
            // request.
            body: verb === "GET" || verb === "DELETE" ? undefined : what,
            headers: { "content-type": contentType },
          });
          const json = headers["content-type"] === "text/event-stream" ? {} : JSON.parse(text);
          expect([200, 400, 404, 405, 415]).toContain(status);
          expect(json.error?.code ?? 200).toBe(status);
        },
      ),
      runs,
    );
    expect([served.lines, served.broken]).toEqual([[], []]);
  });

  it("gets well-formed answers from JSON-RPC", async () => {
    const served = await serve(createJsonRpcBinding);
    const unary = A2AService.methods.filter(({ methodKind }) => methodKind === "unary").map(({ name }) => name);
    const id = fc.oneof(fc.constantFrom(undefined, null, 1, "x", {}, 1e99), fc.jsonValue());
    const request = fc.record({
      jsonrpc: fc.constantFrom("2.0", "2.0", "2.0", "1", 2),
      method: fc.constantFrom(...unary, "x", 5),
      params: tree,
      id,
    });
    const call = fc.oneof(
      body,
      request.map((each) => JSON.stringify(each)),
      fc.array(fc.oneof(request, tree), { maxLength: 4 }).map((each) => JSON.stringify(each)),
    );
    await fc.assert(
      fc.asyncProperty(call, type, async (what, contentType) => {
        const { status, text } = await send(served, {
          verb: "POST",
          path: "/",
          body: what,
          headers: { "content-type": contentType },
        });
        expect([200, 204, 415]).toContain(status);
        expect(text === "").toBe(status === 204);
        const answer = text === "" ? [] : JSON.parse(text);
        for (const each of Array.isArray(answer) ? answer : [answer]) {
          expect(each).toMatchObject({ jsonrpc: "2.0" });
          expect("id" in each && "result" in each !== "error" in each).toBe(true);
        }
      }),
      runs,
    );
    expect([served.lines.filter(({ level }) => level !== "warn"), served.broken]).toEqual([[], []]);
  });
});
