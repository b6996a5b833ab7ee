import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../src/store/memory/index.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { textAt } from "../support/json-path.js";
import { gates } from "./agents.js";
import { patience } from "./run.js";
import { setups } from "./setups.js";
import { serve } from "./worlds.js";

vi.setConfig({ testTimeout: patience });

const unique = (what: string): string => `${what}-${randomUUID()}`;

function send(text: string, contextId: string): JsonObject {
  return { message: { messageId: "m", contextId, role: "ROLE_USER", parts: [{ text }] } };
}

/** Lists the only task of a context. */
async function listed(driver: Driver, contextId: string): Promise<JsonObject> {
  const { message } = await driver.call("ListTasks", { contextId });
  expect(message).toMatchObject({ totalSize: 1 });
  return message as JsonObject;
}

/** Lets a task continue and waits for its end. */
async function finished(driver: Driver, contextId: string, gate: string): Promise<string> {
  const id = textAt(await listed(driver, contextId), "tasks[0].id");
  const stream = driver.stream("SubscribeToTask", { id });
  expect(await stream.next()).toHaveProperty("message.task");
  gates.open(gate);
  await stream.rest();
  return textAt(await listed(driver, contextId), "tasks[0].status.state");
}

describe.each(bindings.map((binding) => [binding.name, binding] as const))("a client over %s", (name, binding) => {
  let driver: Driver;
  let close = async (): Promise<void> => {};

  beforeAll(async () => {
    const { server, address } = await serve(setups.main, memoryStore());
    driver = binding.connect(address);
    close = async () => {
      driver.close();
      await server.close();
    };
  });
  afterAll(() => close());

  it("may leave while it waits for an answer: the task goes on [SRV-GEN-15 SRV-GEN-16]", async () => {
    const [gate, contextId] = [unique("gate"), unique("context")];
    const controller = new AbortController();
    const left = driver.call("SendMessage", send(`wait ${gate}`, contextId), { signal: controller.signal });
    left.catch(() => {});
    await gates.reached(gate);
    controller.abort();
    await left.catch(() => {});
    expect(await finished(driver, contextId, gate)).toBe("TASK_STATE_COMPLETED");
  });

  it("may leave a stream before its first event is read: the task goes on [SRV-GEN-16]", async () => {
    const [gate, contextId] = [unique("gate"), unique("context")];
    const stream = driver.stream("SendStreamingMessage", send(`wait ${gate}`, contextId));
    await stream.next();
    stream.hangUp();
    await gates.reached(gate);
    expect(await finished(driver, contextId, gate)).toBe("TASK_STATE_COMPLETED");
  });

  it("may leave before a direct answer: the agent is told, as nobody else could read it [SRV-STRM-03]", async () => {
    const { server, address } = await serve(setups.message, memoryStore());
    const other = binding.connect(address);
    const gate = unique("gate");
    const controller = new AbortController();
    const left = other.call("SendMessage", send(`wait ${gate}`, "c"), { signal: controller.signal });
    left.catch(() => {});
    await gates.reached(gate);
    controller.abort();
    await gates.reached(`${gate} was left`);
    await left.catch(() => {});
    other.close();
    await server.close();
  });

  it("may open many streams over one connection [SRV-STRM-11 SRV-STRM-12]", async () => {
    const [gate, contextId] = [unique("gate"), unique("context")];
    const first = driver.stream("SendStreamingMessage", send(`wait ${gate}`, contextId));
    const begin = await first.next();
    const id = textAt("message" in begin ? begin.message : undefined, "task.id");
    const streams = Array.from({ length: 20 }, () => driver.stream("SubscribeToTask", { id }));
    for (const stream of streams) expect(await stream.next()).toHaveProperty("message.task");
    gates.open(gate);
    for (const stream of [first, ...streams]) {
      const { messages, error } = await stream.rest();
      expect(error).toBeUndefined();
      expect(messages.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
    }
  });

  it.skipIf(name === "jsonrpc" || name === "rest")(
    "may set a deadline: the call ends with it, the task does not [SRV-GEN-15 SRV-ERR-13]",
    async () => {
      const [gate, contextId] = [unique("gate"), unique("context")];
      const reply = await driver.call("SendMessage", send(`wait ${gate}`, contextId), { timeoutMs: 300 });
      expect(reply.error?.status).toBe("DEADLINE_EXCEEDED");
      expect(await finished(driver, contextId, gate)).toBe("TASK_STATE_COMPLETED");
    },
  );
});

describe.each(bindings.map((binding) => [binding.name, binding] as const))("a server over %s", (_name, binding) => {
  it("that ends tells its streams so, and takes no more calls [SRV-ERR-13 SRV-ERR-14]", async () => {
    const { server, address } = await serve({ ...setups.main, limits: { shutdownGraceMs: 500 } }, memoryStore());
    const driver = binding.connect(address);
    const gate = unique("gate");
    const stream = driver.stream("SendStreamingMessage", send(`wait ${gate}`, "c"));
    expect(await stream.next()).toHaveProperty("message.task");
    expect(await stream.next()).toHaveProperty("message.statusUpdate");
    const closed = server.close();
    const { messages, error } = await stream.rest();
    expect(messages).toEqual([]);
    expect(error).toMatchObject({ reason: "UNAVAILABLE", domain: "urn:parley" });
    expect(error?.details.map((detail) => detail["@type"])).toContain("type.googleapis.com/google.rpc.RetryInfo");
    gates.open(gate);
    driver.close();
    await closed;
  });
});
