import { describe, expect, it } from "vitest";
import { stays } from "../../src/core/departure.js";
import type { Turn } from "../../src/engine/agent.js";
import { type AgentEvent, inputRequired, working } from "../../src/engine/event.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { openStore } from "./stores.js";
import { Bench, gate, settle } from "./support.js";

/** A store that ends leases, but says so only when it is let to. */
function slowToLetGo(store: TaskStore, letGo: Promise<void>): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "setLease") return value.bind(target);
      return async (request: Parameters<TaskStore["setLease"]>[0]) => {
        const outcome = await target.setLease(request);
        await letGo;
        return outcome;
      };
    },
  });
}

/** Asks at first, then is at work until it is let go on. */
function asker(goOn: Promise<void>): { execute(turn: Turn): AsyncIterable<AgentEvent> } {
  return {
    async *execute(turn) {
      if (turn.text === "ask") {
        yield inputRequired("What?");
        return;
      }
      yield working();
      await goOn;
    },
  };
}

describe("the lease of a task", () => {
  it("covers a message that comes in the moment when the turn before lets go of it", async () => {
    const [letGo, goOn] = [gate(), gate()];
    const store = openStore();
    const bench = new Bench(asker(goOn.opened), {}, slowToLetGo(store, letGo.opened));
    const held = await bench.send("ask");
    expect(await settle(held)).toBe("INPUT_REQUIRED");
    const { id: taskId } = held.accepted!.task;
    // The answer that the client saw is stored, and the lease that is not needed any more is being given up.
    await expect.poll(async () => (await store.head({ taskId }))?.lease).toBeNull();
    const next = await bench.send("go on", { message: { taskId } });
    expect((await store.head({ taskId }))?.lease).toMatchObject({ turn: 3, attempt: 1 });
    letGo.open();
    await next.passed(2, stays, 5_000);
    expect((await store.head({ taskId }))?.lease).toMatchObject({ turn: 3, attempt: 1 });
    goOn.open();
    expect(await settle(next)).toBe("COMPLETED");
    expect((await store.head({ taskId }))?.lease).toBeNull();
  });

  it("is that of the first of two messages that come at once, so that neither is forgotten", async () => {
    const goOn = gate();
    const store = openStore();
    const bench = new Bench(asker(goOn.opened), {}, store);
    const held = await bench.send("ask");
    await settle(held);
    const { id: taskId } = held.accepted!.task;
    await expect.poll(async () => (await store.head({ taskId }))?.lease).toBeNull();
    await Promise.all(["one", "two"].map((text) => bench.send(text, { message: { taskId } })));
    expect((await store.head({ taskId }))?.lease).toMatchObject({ turn: 3 });
    goOn.open();
  });
});
