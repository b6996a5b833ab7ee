import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { working } from "../../src/agent/event.js";
import type { Limits } from "../../src/core/limits.js";
import { type A2A, createA2A } from "../../src/server/create-a2a.js";
import { storeClose } from "../../src/server/lifecycle.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { setConstants } from "../support/constants.js";
import { hangingStore } from "../support/slow-store.js";

const interrupted: unknown[] = [];

const agent: Agent = {
  card: { name: "Probe", description: "Works until it is stopped.", version: "1.0.0" },
  async *execute({ signal }) {
    yield working();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    interrupted.push((signal.reason as Error).cause);
  },
};

interface Made {
  readonly a2a: A2A;
  readonly logged: { readonly level: string; readonly facts: object; readonly message: string }[];
}

function make(store: TaskStore, limits: Partial<Limits> = {}): Made {
  const logged: Made["logged"] = [];
  const at =
    (level: string) =>
    (facts: object, message: string): void =>
      void logged.push({ level, facts, message });
  const logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { a2a: createA2A({ agent, store, limits, logger, leaseMs: 100 }), logged };
}

/** Sends a message to the handler and returns its answer. */
async function send({ a2a }: Made): Promise<[status: number, body: string]> {
  const server = http.createServer(a2a.handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] },
        configuration: { returnImmediately: true },
      }),
    });
    return [response.status, await response.text()];
  } finally {
    server.close().closeAllConnections();
  }
}

const loud = ({ logged }: Made): unknown[] => logged.filter(({ level }) => level === "warn" || level === "error");

const stores: [name: string, open: () => TaskStore][] = [
  ["the memory store", () => memoryStore()],
  ["SQLite", () => sqliteStore(temporaryFile())],
  ["SQLite, shared", () => sqliteStore({ path: temporaryFile(), shared: true })],
];

describe.each(stores)("an instance that is closed, on %s", (_name, open) => {
  it("does not start any more, says why, and keeps quiet", async () => {
    const made = make(open());
    await made.a2a.close({ graceMs: 0 });
    await expect(made.a2a.start()).rejects.toThrow(/closed.*createA2A/s);
    const [status, body] = await send(made);
    expect([status, body]).toEqual([503, expect.stringContaining('"UNAVAILABLE"')]);
    // Several rounds of the background work of a started server.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(loud(made)).toEqual([]);
    expect(made.a2a.readiness).toBe("draining");
  });

  it("says the same where it was started before", async () => {
    const made = make(open());
    await made.a2a.start();
    await made.a2a.close({ graceMs: 0 });
    await expect(made.a2a.start()).rejects.toThrow(/closed/);
    expect((await send(made))[0]).toBe(503);
    expect(loud(made)).toEqual([]);
  });
});

describe("close() on a store that does not answer any more", () => {
  it("ends, and says what it left behind", async () => {
    const { store, hang } = hangingStore(memoryStore());
    setConstants(storeClose, { timeoutMs: 50 });
    const made = make(store, { cancelGraceMs: 50 });
    await made.a2a.start();
    expect((await send(made))[0]).toBe(200);
    hang();
    interrupted.length = 0;
    await expect(made.a2a.close({ graceMs: 0 })).rejects.toThrow(
      "The task store did not answer: it is not known to be closed, and 1 execution was left for the next start.",
    );
    expect(interrupted).toEqual(["shutdown"]);
    expect(loud(made)).toEqual([]);
  });

  it("ends while the start still waits for it, and does not go on with that when it comes", async () => {
    const { store, hang, go } = hangingStore(memoryStore());
    hang();
    setConstants(storeClose, { timeoutMs: 50 });
    const made = make(store);
    const started = made.a2a.start();
    await expect(made.a2a.close({ graceMs: 0 })).rejects.toThrow("The task store did not answer");
    go();
    await started;
    expect(made.a2a.readiness).toBe("draining");
    const before = made.logged.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(made.logged.slice(before)).toEqual([]);
  });

  it("closes the store where only the work did not end", async () => {
    const { store, hang } = hangingStore(memoryStore(), ["setLease", "append"]);
    setConstants(storeClose, { timeoutMs: 50 });
    const made = make(store, { cancelGraceMs: 50 });
    await made.a2a.start();
    expect((await send(made))[0]).toBe(200);
    hang();
    await expect(made.a2a.close({ graceMs: 0 })).rejects.toThrow(
      "The task store did not answer: 1 execution was left for the next start.",
    );
    await expect(store.head({ taskId: "t" })).rejects.toMatchObject({ kind: "closed" });
  });
});

describe("a call that waits for its task when the grace is over", () => {
  const said = (more: object) => ({ message: { messageId: "m", ...more } });
  const first = said({ role: "ROLE_USER", parts: [{ text: "hello" }] });
  const third = said({ kind: "message", role: "user", parts: [{ kind: "text", text: "hello" }] });
  const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });

  it.each([
    ["JSON-RPC", "/", rpc("SendMessage", first)],
    ["HTTP+JSON", "/message:send", first],
    ["JSON-RPC in 0.3", "/", rpc("message/send", third)],
    ["HTTP+JSON in 0.3", "/v1/message:send", third],
  ])("is told the task that it may subscribe to: %s", async (_, path, body) => {
    let begin: (taskId: string) => void = () => {};
    const begun = new Promise<string>((resolve) => {
      begin = resolve;
    });
    const waits: Agent = {
      ...agent,
      async *execute({ taskId, signal }) {
        yield working();
        begin(taskId);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    };
    const a2a = createA2A({ agent: waits, store: memoryStore(), limits: { shutdownGraceMs: 50, cancelGraceMs: 50 } });
    const answered = a2a.fetch(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
    const taskId = await begun;
    await a2a.close();
    const text = await (await answered).text();
    expect(text).toContain("subscribe to the task again");
    expect(JSON.parse(/"metadata":(\{.*?\})/.exec(text)?.[1] ?? "{}")).toEqual({ taskId });
  });

  it("is told it as well where it has waited for as long as calls may", async () => {
    const a2a = createA2A({ agent, store: memoryStore(), limits: { maxBlockingMs: 50 } });
    const body = JSON.stringify(first);
    const headers = { "content-type": "application/json" };
    const answer = await a2a.fetch(new Request("http://localhost/message:send", { method: "POST", headers, body }));
    const { error } = (await answer.json()) as { error: { status: string; details: { metadata: object }[] } };
    const tasks = (await (await a2a.fetch(new Request("http://localhost/tasks"))).json()) as {
      tasks: { id: string }[];
    };
    expect([error.status, error.details[0]?.metadata]).toEqual(["DEADLINE_EXCEEDED", { taskId: tasks.tasks[0]?.id }]);
    await a2a.close({ graceMs: 0 });
  });
});
