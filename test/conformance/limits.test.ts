import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import type { Driver } from "../support/driver.js";
import { bindingOf, bindings } from "../support/drivers.js";
import { patience } from "./run.js";
import { setups } from "./setups.js";
import { serve } from "./worlds.js";

vi.setConfig({ testTimeout: patience });

/** Nests lists and objects alternately up to a depth. */
function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? { a: value } : [value];
  return value;
}

describe.each(bindings.map((binding) => [binding.name, binding] as const))("nesting over %s", (_name, binding) => {
  let driver: Driver;
  let reader: Driver;
  let close = async (): Promise<void> => {};

  beforeAll(async () => {
    const { server, address } = await serve(setups.careless, memoryStore());
    driver = binding.connect(address);
    reader = bindingOf("jsonrpc").connect(address);
    close = async () => {
      driver.close();
      reader.close();
      await server.close();
    };
  });
  afterAll(() => close());

  // A client has to be able to read all data that the server accepts. The exact limit does not matter.
  it("goes as deep as it can be read again [SRV-GEN-04 SRV-SEC-04]", async () => {
    for (let depth = 30; depth < 60; depth++) {
      const contextId = `depth-${depth}`;
      const taken = await sent(driver, contextId, nested(depth));
      if (taken === undefined) return expect(depth).toBeGreaterThan(40);
      const reply = await reader.call("ListTasks", { contextId });
      expect(reply.error, `depth ${depth}`).toBeUndefined();
    }
  });

  it("is refused beyond that, as a request that does not fit [SRV-SEC-04 SRV-SEC-06]", async () => {
    for (const depth of [45, 49, 60, 200]) expect(await sent(driver, "deep", nested(depth))).toBeUndefined();
    expect((await reader.call("ListTasks", { contextId: "deep" })).message?.tasks).toBeUndefined();
  });
});

// Deeper nesting is refused before parsing, because a parser's time grows with the depth.
it.each([
  ["jsonrpc", "/", 200],
  ["rest", "/message:send", 400],
  ["connect", "/lf.a2a.v1.A2AService/SendMessage", 400],
])("nesting that no reader takes is refused over %s [SRV-SEC-04]", async (binding, path, status) => {
  const { server, address } = await serve(setups.careless, memoryStore());
  try {
    const data = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const request = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${data}}]}}`;
    const call = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${request}}`;
    const response = await fetch(address.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
      body: binding === "jsonrpc" ? call : request,
    });
    expect(response.status).toBe(status);
    expect(await response.text()).toContain("The request is nested more than 400 levels deep.");
  } finally {
    await server.close();
  }
});

/** Sends a message with data. Returns its task, or undefined if the client's codec or the server refused the data. */
async function sent(driver: Driver, contextId: string, data: JsonValue): Promise<JsonObject | undefined> {
  const parts = [{ text: "quiet" }, { data }];
  const request = { message: { messageId: "m", contextId, role: "ROLE_USER", parts } };
  try {
    // Requests no history, because the client may be unable to read it.
    const reply = await driver.call("SendMessage", { ...request, configuration: { historyLength: 0 } });
    const message = expect.stringMatching(/nested (?:too|more)/);
    if (reply.error !== undefined) expect(reply.error).toMatchObject({ reason: "INVALID_PARAMS", message });
    return reply.message;
  } catch (error) {
    expect(String(error)).toMatch(/recursion|nest|depth/i);
    return undefined;
  }
}
