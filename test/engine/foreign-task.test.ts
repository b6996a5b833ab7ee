import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact } from "../../src/agent/event.js";
import type { A2AError } from "../../src/core/error.js";
import type { Engine } from "../../src/engine/engine.js";
import type { NewPushConfig, TaskStore } from "../../src/store/task-store.js";
import { openStore } from "./stores.js";
import { Bench, gate, scope, settle } from "./support.js";

const other = { tenant: "", owner: "mallory" };
const UNKNOWN = "01a1fdef-a9b7-72bd-98a6-000000000000";

/** A store that records its calls in order. */
function recorded(store: TaskStore): { readonly store: TaskStore; readonly asked: unknown[] } {
  const asked: unknown[] = [];
  const watched = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...parameters: unknown[]) => {
        asked.push([name, ...parameters]);
        return value.apply(target, parameters);
      };
    },
  });
  return { store: watched, asked };
}

const config: NewPushConfig = {
  configId: "one",
  bytes: new Uint8Array([1]),
  target: "https://hooks.example:443",
  maxPerTask: 2,
  maxPerOwner: 2,
};

/** Every call that asks the engine for a task. */
const questions: Record<string, (bench: Bench, engine: Engine, taskId: string) => Promise<unknown>> = {
  get: (_bench, engine, taskId) => engine.get(other, taskId),
  open: (_bench, engine, taskId) => engine.open(other, taskId),
  cancel: (_bench, engine, taskId) => engine.cancel(other, taskId),
  send: (bench, _engine, taskId) =>
    bench.send("for you", { message: { taskId }, caller: { ...other, authenticated: true, scopes: [], claims: {} } }),
  "find for a configuration": (_bench, engine, taskId) => engine.pushConfigs.find(other, taskId),
  "put a configuration": (_bench, engine, taskId) => engine.pushConfigs.put(other, taskId, config),
  "get a configuration": (_bench, engine, taskId) => engine.pushConfigs.get(other, { taskId, configId: "one" }),
  "list configurations": (_bench, engine, taskId) => engine.pushConfigs.list(other, { taskId, after: "", limit: 10 }),
  "delete a configuration": (_bench, engine, taskId) => engine.pushConfigs.delete(other, { taskId, configId: "one" }),
};

/** Places of another owner's task, by description. Each function creates the task there. */
const places: Record<string, (bench: Bench, letGo: () => void) => Promise<string>> = {
  "being executed": async (bench) => {
    const held = await bench.send("wait");
    return held.now().task.id;
  },
  "in the store alone": async (bench, letGo) => {
    letGo();
    const held = await bench.send("end");
    await settle(held);
    const { id } = held.now().task;
    held.release();
    await expect.poll(() => bench.engine.executions).toBe(0);
    return id;
  },
  "large, in the store alone": async (bench, letGo) => {
    letGo();
    const held = await bench.send("large");
    await settle(held);
    const { id } = held.now().task;
    held.release();
    await expect.poll(() => bench.engine.executions).toBe(0);
    return id;
  },
};

// The calls to the store stand for the duration of a call. No test measures time.
describe.each(Object.keys(places))("a task of somebody else, %s", (place) => {
  it.each(Object.keys(questions))(
    "costs %s what one costs that does not exist, and is answered alike",
    async (name) => {
      const letGo = gate();
      const agent: Omit<Agent, "card"> = {
        async *execute({ text }) {
          if (text === "wait") await letGo.opened;
          if (text === "large") {
            for (let piece = 0; piece < 40; piece++) yield artifact({ id: String(piece), text: "x".repeat(60_000) });
          }
        },
      };
      const { store, asked } = recorded(openStore());
      const bench = new Bench(agent, {}, store);
      await bench.engine.start();
      const taskId = await (places[place] as (typeof places)[string])(bench, letGo.open);
      const question = questions[name] as (typeof questions)[string];
      const answer = async (id: string): Promise<{ text: string; reason: string }> => {
        asked.length = 0;
        const error: unknown = await question(bench, bench.engine, id).catch((reason: unknown) => reason);
        const about = asked.filter((call) => JSON.stringify(call).includes(id));
        const { reason, message, metadata } = error as A2AError;
        return { text: JSON.stringify({ reason, message, metadata, about }).replaceAll(id, "<id>"), reason };
      };
      const theirs = await answer(taskId);
      expect(theirs.reason).toBe("TASK_NOT_FOUND");
      expect(theirs.text).toMatch(/"(load|head)"/);
      expect(theirs).toEqual(await answer(UNKNOWN));
      // The owner still finds the task.
      expect((await bench.engine.get(scope, taskId)).task.id).toBe(taskId);
      letGo.open();
      await bench.engine.drain(1_000);
    },
  );
});
