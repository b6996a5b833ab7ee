import { describe, expect, it } from "vitest";
import type { A2AClient } from "../../src/client/client.js";
import { bindings } from "../../src/client/discovery/interfaces.js";
import { A2AError } from "../../src/core/error.js";
import { connect, serve } from "./world.js";

/** Values of all kinds, each invalid in most places. */
const odd: readonly unknown[] = [5, true, null, {}, [], "x", Number.NaN, 1n, () => 1, Symbol("x")];

const shown = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));

/** Yields copies of a value that each have another value in one place. */
function* mutants(value: unknown, path = ""): Generator<readonly [path: string, of: (other: unknown) => unknown]> {
  yield [path, (other) => other];
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  for (const [name, each] of Object.entries(value)) {
    const isList = Array.isArray(value);
    for (const [inner, of] of mutants(each, isList ? `${path}[${name}]` : `${path}.${name}`)) {
      const replaced = (other: unknown): unknown =>
        isList ? value.with(Number(name), of(other)) : { ...value, [name]: of(other) };
      yield [inner, replaced];
    }
  }
}

const message = {
  messageId: "m",
  contextId: "c",
  parts: [
    { text: "say hi", mediaType: "text/plain", filename: "f", metadata: { a: 1 } },
    { data: { a: 1 } },
    { url: "https://a.example" },
    { raw: new Uint8Array([1]) },
  ],
  metadata: { a: { b: 1 } },
  extensions: ["urn:x"],
  referenceTaskIds: ["t"],
};

const served = async (binding: (typeof bindings)[number]): Promise<A2AClient> =>
  connect((await serve()).url, { bindings: [binding], limits: { maxAttempts: 1 } });

describe.each(bindings)("a request with a value of a wrong type, over %s", (binding) => {
  it("is refused with the field, or taken: never an internal error", async () => {
    const client = await served(binding);
    for (const [path, of] of mutants(message)) {
      for (const other of odd) {
        const error = await client.send(of(other) as string).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (error === undefined) continue;
        const what = `${path} = ${shown(other)}: ${error}`;
        expect(error, what).toBeInstanceOf(A2AError);
        const { reason, violations } = error as A2AError;
        expect(["INVALID_PARAMS", "CONTENT_TYPE_NOT_SUPPORTED"], what).toContain(reason);
        if (reason === "INVALID_PARAMS") expect(violations.length, what).toBeGreaterThan(0);
      }
    }
  });

  it.each<[string, (client: A2AClient) => Promise<unknown>]>([
    ["message.parts[1].text: must be a text", (client) => client.send([{ text: "a" }, { text: 5 as never }])],
    ["message.parts[0].raw: must be bytes (Uint8Array)", (client) => client.send([{ raw: "AQ==" as never }])],
    ["message.metadata.a[0]: must be a finite number", (c) => c.send({ parts: "a", metadata: { a: [Number.NaN] } })],
    ["message.extensions: must be a list", (client) => client.send({ parts: "a", extensions: "urn:x" as never })],
    ["configuration.acceptedOutputModes: must be a list", (c) => c.send("a", { acceptedOutputModes: 5 as never })],
    ["metadata: must be an object", (client) => client.send("a", { metadata: 5 as never })],
    ["id: must be a text", (client) => client.getTask({ id: 5 as never })],
    ["pageSize: must be a whole number", (client) => client.listTasks({ pageSize: "5" as never })],
    ["statusTimestampAfter: must be an object", (c) => c.listTasks({ statusTimestampAfter: "2026-01-01" as never })],
    ["the request must be an object", (client) => client.getTask("a" as never)],
    ["message.parts: must be a list", (client) => client.sendMessage({ message: { parts: 5 as never } })],
  ])("names it: %s", async (text, call) => {
    const client = await served(binding);
    await expect(call(client)).rejects.toMatchObject({
      reason: "INVALID_PARAMS",
      message: `Invalid parameters: ${text}`,
    });
  });
});
