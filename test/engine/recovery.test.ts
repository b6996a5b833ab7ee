import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, inputRequired, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { defaultLimits } from "../../src/core/limits.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { StoreError, type TaskStore } from "../../src/store/task-store.js";
import { openShared, openStore, openStores } from "./stores.js";
import { Bench, gate, scope, settle, story } from "./support.js";
import { mortal, withMethods } from "./wrapped-stores.js";

/** Runs an agent into the middle of a turn, kills its process, and then starts another one. */
async function crash(agent: Omit<Agent, "card">, texts: readonly string[] = ["x"]) {
  const [one, store] = openShared();
  const first = mortal(one);
  const before = new Bench(agent, mortals, first.store);
  await before.engine.start();
  const held = await before.send(texts[0] ?? "");
  const { id: taskId } = held.accepted!.task;
  for (const text of texts.slice(1)) await before.send(text, { message: { taskId } });
  await held.whenPast(1, neverCanceled, 5_000);
  // Waits until all yielded events are stored.
  await new Promise((resolve) => setTimeout(resolve, 20));
  first.die();
  const holder = await holderOf(store, taskId);
  const after = new Bench(agent, { leaseMs }, store);
  await after.engine.start();
  await expect.poll(() => holderOf(store, taskId), patience).not.toBe(holder);
  return { taskId, after, store };
}

/** Silence after which a process counts as dead, in milliseconds. */
const leaseMs = 240;

/** The store survives the process in these tests, so it must not send heartbeats for it. */
const mortals = { leaseMs, limits: { ...defaultLimits, maxStallMs: 0 } };

/** Long enough for several rounds on a busy machine. */
const patience = { timeout: 20_000 };

async function holderOf(store: TaskStore, taskId: string): Promise<string | undefined> {
  return (await store.head({ taskId }))?.lease?.holder;
}

const stuck = new Promise<never>(() => {});

describe("recovery", () => {
  it("fails what a crash cut off, by default, with a clear status", async () => {
    const { after, taskId } = await crash({
      async *execute() {
        yield working();
        await stuck;
      },
    });
    const held = await after.engine.open(scope, taskId);
    await held.whenPast(2, neverCanceled, 10_000);
    const { task } = held.now();
    expect(task.status?.state).toBe(TaskState.FAILED);
    expect(task.status?.message?.parts[0]?.content.value).toContain("crash");
  });

  it("runs the turn again where the agent says so, with the task so far", async () => {
    const attempts: [number, number | undefined][] = [];
    const { after, taskId } = await crash({
      recover: "restart",
      async *execute(turn) {
        attempts.push([turn.attempt, turn.task?.artifacts.length]);
        yield artifact({ name: `try ${turn.attempt}`, text: turn.text });
        if (turn.attempt === 1) await stuck;
      },
    });
    const held = await after.engine.open(scope, taskId);
    for await (const _ of held.events({ position: 0, generation: 0 }, neverCanceled)) {
      // Reads to the end.
    }
    expect(held.now().task.status?.state).toBe(TaskState.COMPLETED);
    expect(attempts).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });

  it("gives waiting messages their turns", async () => {
    const { after, taskId } = await crash(
      {
        recover: "restart",
        async *execute(turn) {
          yield artifact({ name: `${turn.text} ${turn.attempt}`, text: "x" });
          if (turn.text === "one" && turn.attempt === 1) await stuck;
        },
      },
      ["one", "two", "three"],
    );
    const held = await after.engine.open(scope, taskId);
    for await (const _ of held.events({ position: 0, generation: 0 }, neverCanceled)) {
      // Reads to the end.
    }
    expect(held.now().task.artifacts.map((a) => a.name)).toEqual(["one 1", "one 2", "two 1", "three 1"]);
  });

  it("does not fail a task that had come to its pause", async () => {
    const { after, taskId } = await crash({
      async *execute(turn) {
        if (turn.text !== "x") return;
        yield inputRequired("?");
        await stuck;
      },
    });
    expect((await after.engine.get(scope, taskId)).task.status?.state).toBe(TaskState.INPUT_REQUIRED);
    const held = await after.send("go on", { message: { taskId } });
    expect(await settle(held)).toBe("COMPLETED");
  });

  it("gives a message its turn that had waited for a pause, when the crash came before its agent's first event", async () => {
    const [one, store] = openShared();
    const first = mortal(one);
    const pause = gate();
    const begun: string[] = [];
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        begun.push(`${turn.text} ${turn.attempt}`);
        if (turn.text === "one") {
          await pause.opened;
          yield inputRequired("?");
        } else if (turn.attempt === 1) await stuck;
      },
    };
    const before = new Bench(agent, mortals, first.store);
    await before.engine.start();
    const held = await before.send("one");
    const { id: taskId } = held.accepted!.task;
    await before.send("two", { message: { taskId } });
    pause.open();
    await expect.poll(() => begun, patience).toEqual(["one 1", "two 1"]);
    first.die();
    const after = new Bench(agent, { leaseMs }, store);
    await after.engine.start();
    await expect.poll(async () => (await store.head({ taskId }))?.lease, patience).toBeNull();
    expect(begun).toEqual(["one 1", "two 1", "two 2"]);
    await after.engine.drain(0);
  });

  it("gives up after so many attempts", async () => {
    const stores = openStores(6);
    const store = stores[5] as TaskStore;
    const begun: number[] = [];
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        yield working(`${turn.attempt}`);
        begun.push(turn.attempt);
        await stuck;
      },
    };
    let taskId = "";
    for (let life = 1; life <= 4; life++) {
      const { store: kept, die } = mortal(stores[life] as TaskStore);
      const bench = new Bench(agent, { ...mortals, maxRestarts: 3 }, kept);
      await bench.engine.start();
      if (life === 1) taskId = (await bench.send("x")).accepted!.task.id;
      await expect.poll(() => begun.length, patience).toBe(life);
      const stored = async () => (await store.head({ taskId }))?.generation;
      await expect.poll(stored, patience).toBe(1 + life);
      die();
    }
    const last = new Bench(agent, { leaseMs, maxRestarts: 3 }, store);
    await last.engine.start();
    const ended = async () => (await last.engine.get(scope, taskId)).task.status?.state;
    await expect.poll(ended, patience).toBe(TaskState.FAILED);
    const { task } = await last.engine.get(scope, taskId);
    expect(task.history.map((m) => m.parts[0]?.content.value)).toEqual(["x", "1", "2", "3", "4"]);
    await last.engine.drain(0);
  }, 60_000);

  it("counts no orderly end as an attempt, though its agent hears that it ran before", async () => {
    const stores = openStores(6);
    const begun: number[] = [];
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        yield working(`${turn.attempt}`);
        begun.push(turn.attempt);
        await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
      },
    };
    for (let life = 1; life <= 5; life++) {
      const bench = new Bench(agent, { leaseMs, maxRestarts: 1 }, stores[life]);
      await bench.engine.start();
      if (life === 1) await bench.send("x");
      await expect.poll(() => begun.length, patience).toBe(life);
      await bench.engine.drain(0);
    }
    expect(begun).toEqual([1, 2, 2, 2, 2]);
  }, 60_000);

  it("leaves the tasks of a process alone that says it lives", async () => {
    const [one, two] = openShared();
    // A longer lease, because a busy machine delays heartbeats and a late process counts as dead.
    const longMs = 1_500;
    const bench = new Bench(
      {
        async *execute() {
          yield working();
          await stuck;
        },
      },
      { leaseMs: longMs },
      one,
    );
    await bench.engine.start();
    const held = await bench.send("x");
    const other = new Bench({ async *execute() {} }, { leaseMs: longMs }, two);
    await other.engine.start();
    await new Promise((resolve) => setTimeout(resolve, 3 * longMs));
    expect(held.now().task.status?.state).toBe(TaskState.WORKING);
    await bench.engine.drain(0);
    await other.engine.drain(0);
  });
});

describe("recovery from a file", () => {
  /** Kills a process in the middle of a turn. The next one opens the file before the lease ends. */
  async function nextLife(shared: boolean, check: (after: Bench, taskId: string) => Promise<void>): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), "parley-recovery-"));
    const path = join(folder, "tasks.db");
    const agent: Omit<Agent, "card"> = {
      async *execute() {
        yield working();
        await stuck;
      },
    };
    const kept = sqliteStore({ path, shared });
    const first = mortal(kept);
    const before = new Bench(agent, { leaseMs: 10_000 }, first.store);
    const held = await before.send("x");
    await held.whenPast(1, neverCanceled, 5_000);
    first.die();
    await kept.close();
    const store = sqliteStore({ path, shared });
    const after = new Bench(agent, { leaseMs: 10_000 }, store);
    await after.engine.start();
    await after.engine.recovered;
    await check(after, held.accepted!.task.id);
    await after.engine.drain(0);
    await store.close();
    rmSync(folder, { recursive: true });
  }

  it("takes over at once what a process left in a file that it had alone", () =>
    nextLife(false, async ({ engine }, taskId) => {
      expect((await engine.get(scope, taskId)).task.status?.state).toBe(TaskState.FAILED);
    }));

  it("leaves it for as long as its lease lasts where the file is shared", () =>
    nextLife(true, async ({ engine }, taskId) => {
      expect((await engine.get(scope, taskId)).task.status?.state).toBe(TaskState.WORKING);
    }));

  it("takes nothing away from another engine on the same store", () =>
    nextLife(false, async ({ engine, store, served }) => {
      const other = new Bench(served.agent, { leaseMs: 10_000 }, store);
      await other.engine.start();
      const held = await other.send("x");
      await held.whenPast(1, neverCanceled, 5_000);
      const third = new Bench(served.agent, { leaseMs: 10_000 }, store);
      await third.engine.start();
      await third.engine.recovered;
      expect(held.now().task.status?.state).toBe(TaskState.WORKING);
      expect((await engine.get(scope, held.accepted!.task.id)).task.status?.state).toBe(TaskState.WORKING);
      await Promise.all([other.engine.drain(0), third.engine.drain(0)]);
    }));
});

describe("a task whose events cannot be stored for a while", () => {
  it("is taken over by the same process when they can, and its readers hear of it", async () => {
    const kept = openStore();
    let full = false;
    const store = withMethods(kept, {
      append: (request) =>
        full ? Promise.reject(new StoreError("failed", "The disk is full.")) : kept.append(request),
    });
    const proceed = gate();
    const agent: Omit<Agent, "card"> = {
      async *execute() {
        yield working();
        await proceed.opened;
        yield artifact({ name: "late", text: "late" });
      },
    };
    const bench = new Bench(agent, { leaseMs: 150 }, store);
    await bench.engine.start();
    const held = await bench.send("x");
    const told = story(held);
    await held.whenPast(1, neverCanceled, 5_000);
    full = true;
    proceed.open();
    await expect(bench.send("y")).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(held.now().task.status?.state).toBe(TaskState.WORKING);
    full = false;
    expect(await told).toEqual(["WORKING", expect.stringMatching(/^FAILED .*crash/)]);
    await bench.engine.drain(0);
  });
});

describe("a message to a task whose process died a moment ago", () => {
  it("waits behind the turn that was cut off, which is not skipped", async () => {
    const [one, store] = openShared();
    const first = mortal(one);
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        yield artifact({ name: `${turn.text} ${turn.attempt}`, text: "x" });
        if (turn.text === "one" && turn.attempt === 1) await stuck;
      },
    };
    const before = new Bench(agent, { leaseMs }, first.store);
    const held = await before.send("one");
    const { id: taskId } = held.accepted!.task;
    await held.whenPast(1, neverCanceled, 5_000);
    first.die();
    // The new process cannot know yet that the old one is dead.
    const after = new Bench(agent, { leaseMs }, store);
    await after.engine.start();
    const answered = settle(await after.send("two", { message: { taskId } }));
    expect(await answered).toBe("COMPLETED");
    const { task } = await after.engine.get(scope, taskId);
    expect(task.artifacts.map((a) => a.name)).toEqual(["one 1", "one 2", "two 1"]);
    await after.engine.drain(0);
  });
});

describe("two processes on one store", () => {
  it("see each other's entries and never lose one", async () => {
    const [here, there] = openShared();
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        yield inputRequired(`seen ${turn.text}`);
      },
    };
    const one = new Bench(agent, {}, here);
    const two = new Bench(agent, {}, there);
    const held = await one.send("a");
    expect(await story(held)).toEqual(["INPUT_REQUIRED seen a"]);
    const { id: taskId } = held.now().task;
    const answer = await two.send("b", { message: { taskId } });
    expect(await settle(answer)).toBe("INPUT_REQUIRED");
    // `one` still has the old task. Its append meets a conflict and reads the new entries.
    const third = await one.send("c", { message: { taskId } });
    expect(await settle(third)).toBe("INPUT_REQUIRED");
    const { task } = await two.engine.get(scope, taskId);
    const said = task.history.map((m) => m.parts[0]?.content.value);
    expect(said.filter((text) => text !== undefined && !String(text).startsWith("seen"))).toEqual(["a", "b", "c"]);
  });

  it("answer a message that came to one of them while the other one was at work and then paused", async () => {
    const [here, there] = openShared();
    const go = gate();
    const seen: string[] = [];
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        seen.push(turn.text);
        if (turn.text !== "first") return;
        await go.opened;
        yield inputRequired("More?");
      },
    };
    const [one, two] = [new Bench(agent, { leaseMs }, here), new Bench(agent, { leaseMs }, there)];
    await Promise.all([one.engine.start(), two.engine.start()]);
    const held = await one.send("first");
    const { id: taskId } = held.accepted!.task;
    const second = await two.send("second", { message: { taskId } });
    go.open();
    expect(await settle(second)).toBe("COMPLETED");
    expect(seen).toEqual(["first", "second"]);
    await Promise.all([one.engine.drain(0), two.engine.drain(0)]);
  });

  it("learn of a cancel at the other one: the agent, its readers and the calls that wait", async () => {
    const [here, there] = openShared();
    let told = false;
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        yield working();
        await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
        told = true;
      },
    };
    const [one, two] = [new Bench(agent, {}, here), new Bench(agent, {}, there)];
    await one.engine.start();
    const held = await one.send("go");
    const told1 = story(held);
    const { id: taskId } = held.accepted!.task;
    await held.whenPast(1, neverCanceled, 5_000);
    await two.engine.cancel(scope, taskId);
    expect(await settle(held)).toBe("CANCELED");
    expect((await told1).at(-1)).toBe("CANCELED");
    await expect.poll(() => told).toBe(true);
    await one.engine.drain(0);
  });

  it("know what the other one has stored before they refuse a resume or a generation", async () => {
    const [here, there] = openShared();
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        for (let i = 0; i < 5; i++) yield working(`${turn.text} ${i}`);
        yield inputRequired("More?");
      },
    };
    const [one, two] = [new Bench(agent, {}, here), new Bench(agent, {}, there)];
    const held = await one.send("a");
    await settle(held);
    const { id: taskId } = held.accepted!.task;
    const behind = await two.engine.open(scope, taskId);
    await settle(await one.send("b", { message: { taskId } }));
    const { generation } = held.now();
    expect((await two.engine.open(scope, taskId)).now().generation).toBe(generation);
    await expect(two.send("c", { message: { taskId }, ifGeneration: generation })).resolves.toBeDefined();
    behind.release();
  });
});
