import { describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { completed, inputRequired } from "../../src/agent/event.js";
import { StoreError, type TaskStore } from "../../src/store/task-store.js";
import { openStore } from "./stores.js";
import { Bench, quick, scope, settle } from "./support.js";

vi.setConfig({ testTimeout: 60_000 });

/** A store in which the next calls of one method fail after `arm`, as while another process locks the file. */
function failing(method: keyof TaskStore) {
  const kept = openStore();
  let left = 0;
  let failed = 0;
  const store = new Proxy(kept, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (name !== method || left === 0) return (value as (...a: unknown[]) => unknown).apply(target, args);
        left--;
        failed++;
        return Promise.reject(new StoreError("unavailable", "The database is locked."));
      };
    },
  });
  const arm = (times: number): void => {
    left = times;
  };
  return { store, arm, failed: () => failed };
}

const reads: readonly [keyof TaskStore, string, (turn: Turn) => Promise<unknown>][] = [
  ["conversation", "state.get()", ({ conversation }) => conversation.state.get()],
  ["conversation", "state.update()", ({ conversation }) => conversation.state.update<number>((n = 0) => n + 1)],
  ["list", "messages()", ({ conversation }) => conversation.messages()],
  ["list", "tasks()", ({ conversation }) => conversation.tasks()],
];

describe("a read of an agent", () => {
  it.each(reads)("waits out a failure of the store (%s at %s)", async (method, _name, read) => {
    const { store, arm, failed } = failing(method);
    const attempts: number[] = [];
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        attempts.push(turn.attempt);
        arm(2);
        await read(turn);
        yield completed();
      },
    };
    const bench = new Bench(agent, {}, store);
    expect(await settle(await bench.send("x", { message: { contextId: "c" } }))).toBe("COMPLETED");
    expect([attempts, failed()]).toEqual([[1], 2]);
    await bench.engine.drain(0);
  });

  it("waits out a failure of the store when a step's result is read", async () => {
    const { store, arm, failed } = failing("read");
    const results: number[] = [];
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        if (turn.text === "second") arm(2);
        results.push(await turn.step("roll", () => results.length, { per: "task" }));
        yield turn.text === "second" ? completed() : inputRequired("?");
      },
    };
    const first = new Bench(agent, {}, store);
    const held = await first.send("first");
    expect(await settle(held)).toBe("INPUT_REQUIRED");
    held.release();
    await first.engine.drain(0);
    const second = new Bench(agent, {}, store);
    expect(await settle(await second.send("second", { message: { taskId: held.taskId, messageId: "m2" } }))).toBe(
      "COMPLETED",
    );
    expect([results, failed()]).toEqual([[0, 0], 2]);
    await second.engine.drain(0);
  });

  it("lets the task be recovered if the outage lasts, and does not fail it", async () => {
    const { store, arm } = failing("conversation");
    const attempts: number[] = [];
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        attempts.push(turn.attempt);
        if (turn.attempt === 1) arm(20);
        else arm(0);
        await turn.conversation.state.update<number>((n = 0) => n + 1);
        yield completed();
      },
    };
    const bench = new Bench(agent, { leaseMs: 60, limits: quick }, store);
    await bench.engine.start();
    const held = await bench.send("x", { message: { contextId: "c" } });
    const state = async () => (await bench.engine.get(scope, held.taskId)).task.status?.state;
    await expect.poll(state, { timeout: 20_000 }).toBe(TaskState.COMPLETED);
    expect(attempts).toEqual([1, 2]);
    held.release();
    await bench.engine.drain(0);
  });
});
