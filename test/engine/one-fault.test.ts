import { describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { A2AError } from "../../src/core/error.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { StoreError, type TaskStore } from "../../src/store/task-store.js";
import { decodeEntry } from "../../src/task/entry.js";
import { everyNth } from "../support/cover.js";
import { Bench, quick, scope } from "./support.js";

vi.setConfig({ testTimeout: 60_000 });

/** An error that is not a StoreError. Callers get an internal error. */
const fault = new TypeError("a fault");

/** Results of the failing call. */
const ways = {
  "is refused": { done: false, error: () => new StoreError("failed", "No.") },
  "is not done": { done: false, error: () => new StoreError("unavailable", "Not now.") },
  "is done all the same": { done: true, error: () => new StoreError("unavailable", "Who knows.") },
  "throws what is no error of a store": { done: false, error: () => fault },
} as const;

type Way = keyof typeof ways;

/** A store whose nth call fails. */
function faulty(nth: number, way: Way, shared: boolean): { store: TaskStore; kept: TaskStore; calls: string[] } {
  const kept = memoryStore({ shared });
  const calls: string[] = [];
  const store = new Proxy(kept, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function" || name === "close") return value;
      return async (request: never) => {
        if (calls.push(String(name)) !== nth) return value.call(target, request);
        if (ways[way].done) await value.call(target, request);
        throw ways[way].error();
      };
    },
  });
  return { store, kept, calls };
}

const agent: Omit<Agent, "card"> = {
  recover: "restart",
  async *execute(turn) {
    yield working();
    await new Promise((resolve) => setImmediate(resolve));
    yield artifact({ id: "a", text: turn.text });
    await new Promise((resolve) => setImmediate(resolve));
    if (turn.text === "ask") yield inputRequired("?");
    else yield completed();
  },
};

/** Errors of the protocol are answers. Any other error is a bug. */
async function answered<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof A2AError || error === fault) return undefined;
    throw error;
  }
}

/** Makes all calls of a client on a store whose nth call fails. Returns the calls of the store. */
async function live(nth: number, way: Way, shared: boolean): Promise<string[]> {
  const { store, kept, calls } = faulty(nth, way, shared);
  const bench = new Bench(agent, { leaseMs: 60, limits: quick }, store);
  await bench.engine.start().catch(() => bench.engine.start());
  const idempotency = { key: "k", fingerprint: "f" };
  const held = (await answered(bench.send("ask", { idempotency }))) ?? (await bench.send("ask", { idempotency }));
  const { id: taskId } = held.now().task;
  // A call that waits for an end is refused if an outage makes the end uncertain, so the state is polled.
  const rests = (...states: TaskState[]) =>
    expect
      .poll(async () => (await answered(bench.engine.get(scope, taskId)))?.task.status?.state, { timeout: 20_000 })
      .toSatisfy((state: TaskState) => states.includes(state));
  await rests(TaskState.INPUT_REQUIRED, TaskState.FAILED);
  const more = { message: { taskId }, idempotency: { key: "l", fingerprint: "g" } };
  const follow = (await answered(bench.send("go", more))) ?? (await answered(bench.send("go", more)));
  if (follow !== undefined) await rests(TaskState.COMPLETED);
  follow?.release();
  held.release();
  const third = await answered(bench.send("ask"));
  const { id = "" } = third?.now().task ?? {};
  if (third !== undefined) await answered(bench.engine.cancel(scope, id));
  third?.release();
  await answered(bench.engine.list({ ...scope, limit: 10 }, {}));
  // The next task is served normally.
  const last = (await answered(bench.send("x"))) ?? (await bench.send("x"));
  await expect.poll(() => last.now().task.status?.state, { timeout: 20_000 }).toBe(TaskState.COMPLETED);
  last.release();
  await atRest(kept);
  await bench.engine.drain(0);
  return calls;
}

/** Checks that every task has come to rest without a lease, and that every log is complete. */
async function atRest(store: TaskStore): Promise<void> {
  const over = new Set([TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.INPUT_REQUIRED]);
  const heads = async () => (await store.list({ ...scope, limit: 100 })).heads;
  const open = async () => (await heads()).filter(({ state, lease }) => !over.has(state) || lease !== null);
  await expect.poll(open, { timeout: 20_000 }).toEqual([]);
  for (const { taskId, position } of await heads()) {
    const entries = (await store.read({ taskId, after: 0, limit: 1_000 })).map(decodeEntry);
    expect(entries.map((entry) => entry.position)).toEqual(Array.from({ length: position }, (_, index) => index + 1));
    const states = entries.map(({ event }) => event.case === "status" && event.value.status?.state);
    const ends = states.filter(
      (state) => state !== false && over.has(state as TaskState) && state !== TaskState.INPUT_REQUIRED,
    );
    expect(ends.length).toBeLessThanOrEqual(1);
  }
}

describe.each([false, true])("one call of a store (shared: %s)", (shared) => {
  it.each(Object.keys(ways) as Way[])("that %s stops nothing, whichever it is", async (way) => {
    // Maintenance calls may come at any time, so a few more calls than in one run are tried.
    const calls = (await live(0, way, shared)).length + 10;
    // In `npm test`, each way covers half of the calls. The next way, and the other kind of store, cover the other
    // half.
    const turn = Object.keys(ways).indexOf(way) + Number(shared);
    const numbers = Array.from({ length: calls }, (_, index) => index + 1);
    const lives = everyNth(numbers, 2, turn + 1).map(async (nth) => {
      try {
        await live(nth, way, shared);
      } catch (error) {
        throw new Error(`call ${nth}`, { cause: error });
      }
    });
    const failed = (await Promise.allSettled(lives)).filter(({ status }) => status === "rejected");
    expect(failed).toEqual([]);
  });
});
