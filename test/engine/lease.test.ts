import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { AbortReason } from "../../src/agent/abort.js";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { type AgentEvent, artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { yieldToEventLoop } from "../../src/core/event-loop.js";
import { silentLogger } from "../../src/core/log.js";
import { LeaseKeeper, recovered } from "../../src/engine/log/lease-keeper.js";
import { type Lease, NO_HOLDER, StoreError, type TaskStore } from "../../src/store/task-store.js";
import { setConstants } from "../support/constants.js";
import { openShared, openStore, openStores } from "./stores.js";
import { Bench, gate, quick, scope, settle, story } from "./support.js";
import { withMethods } from "./wrapped-stores.js";

/** A store that ends leases, but answers only after `letGo`. */
function slowToLetGo(store: TaskStore, letGo: Promise<void>): TaskStore {
  return withMethods(store, {
    setLease: async (request) => {
      const outcome = await store.setLease(request);
      await letGo;
      return outcome;
    },
  });
}

/** Asks in one turn, and works in the other until `proceed`. */
function asker(proceed: Promise<void>): { execute(turn: Turn): AsyncIterable<AgentEvent> } {
  return {
    async *execute(turn) {
      if (turn.text === "ask") {
        yield inputRequired("What?");
        return;
      }
      yield working();
      await proceed;
    },
  };
}

describe("the lease of a task", () => {
  it("covers a message that comes in the moment when the turn before lets go of it", async () => {
    const [letGo, proceed] = [gate(), gate()];
    const store = openStore();
    const bench = new Bench(asker(proceed.opened), {}, slowToLetGo(store, letGo.opened));
    const held = await bench.send("ask");
    expect(await settle(held)).toBe("INPUT_REQUIRED");
    const { id: taskId } = held.accepted!.task;
    // The client's answer is stored, and the lease of its turn is being released.
    await expect.poll(async () => (await store.head({ taskId }))?.lease).toBeNull();
    const next = await bench.send("go on", { message: { taskId } });
    expect((await store.head({ taskId }))?.lease).toMatchObject({ turn: 3, attempt: 1 });
    letGo.open();
    await next.whenPast(2, neverCanceled, 5_000);
    expect((await store.head({ taskId }))?.lease).toMatchObject({ turn: 3, attempt: 1 });
    proceed.open();
    expect(await settle(next)).toBe("COMPLETED");
    expect((await store.head({ taskId }))?.lease).toBeNull();
  });

  it("is that of the first of two messages that come at once, so that neither is forgotten", async () => {
    const proceed = gate();
    const store = openStore();
    const bench = new Bench(asker(proceed.opened), {}, store);
    const held = await bench.send("ask");
    await settle(held);
    const { id: taskId } = held.accepted!.task;
    await expect.poll(async () => (await store.head({ taskId }))?.lease).toBeNull();
    await Promise.all(["one", "two"].map((text) => bench.send(text, { message: { taskId } })));
    expect((await store.head({ taskId }))?.lease).toMatchObject({ turn: 3 });
    proceed.open();
  });
});

/** The store of a process that sends one heartbeat. Later ones wait for `until`. */
function silent(store: TaskStore, until: Promise<void> = new Promise(() => {})): TaskStore {
  let said = false;
  return withMethods(store, {
    heartbeat: async (request) => {
      if (said) await until;
      said = true;
      return store.heartbeat(request);
    },
  });
}

const leaseMs = 240;

/** Options of a process whose heartbeats stop as soon as its own do. */
const mortal = { leaseMs, limits: { ...quick, maxStallMs: 0 } };
const patience = { timeout: 20_000 };

/** The leases of the process "me", which has no executions. */
function idleKeeper(store: TaskStore, recover: (taskId: string, lease: Lease) => Promise<void>): LeaseKeeper {
  return new LeaseKeeper({
    store,
    holder: "me",
    leaseMs,
    maxStallMs: 0,
    logger: silentLogger,
    executions: { has: () => false, values: () => [] },
    writing: () => false,
    resumeSoon: () => {},
    recover,
  });
}

describe("an execution whose task another process took over", { timeout: 60_000 }, () => {
  it("stores nothing more, ends nothing, and its callers follow the new owner", async () => {
    const proceed = gate();
    const [here, there] = openShared();
    const reasons: unknown[] = [];
    const stubborn: Omit<Agent, "card"> = {
      async *execute(turn) {
        turn.signal.addEventListener("abort", () => reasons.push(turn.signal.reason));
        yield artifact({ name: "first", text: "of one" });
        await proceed.opened;
        for (let i = 0; i < 50; i++) yield artifact({ name: "late", text: "of one" });
        yield completed("by one");
      },
    };
    const one = new Bench(stubborn, mortal, silent(here));
    await one.engine.start();
    const held = await one.send("x");
    const told = story(held);
    const finish = gate();
    const heir: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        yield artifact({ name: "second", text: `of two ${turn.attempt}` });
        await finish.opened;
        yield completed("by two");
      },
    };
    const two = new Bench(heir, { leaseMs }, there);
    await two.engine.start();
    const { id: taskId } = held.accepted!.task;
    const taken = async () => (await two.engine.get(scope, taskId)).task.artifacts.length;
    await expect.poll(taken, patience).toBe(2);
    proceed.open();
    await expect.poll(() => reasons, patience).toHaveLength(1);
    expect(reasons[0]).toBeInstanceOf(AbortReason);
    expect(reasons[0]).toMatchObject({ cause: "lease-lost" });
    finish.open();
    expect(await told).toEqual(["artifact of one", "artifact of two 2", "COMPLETED by two"]);
    expect(await settle(held)).toBe("COMPLETED");
    await Promise.all([one.engine.drain(0), two.engine.drain(0)]);
  });

  it("hears of it though it has nothing to store", async () => {
    const letSay = gate();
    const [here, there] = openShared();
    let reason: unknown;
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        yield working(`${turn.attempt}`);
        await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
        if (turn.attempt === 1) reason = turn.signal.reason;
      },
    };
    const [one, two] = [new Bench(agent, mortal, silent(here, letSay.opened)), new Bench(agent, { leaseMs }, there)];
    await one.engine.start();
    const held = await one.send("x");
    const { id: taskId } = held.accepted!.task;
    const holder = (await there.head({ taskId }))?.lease?.holder;
    await two.engine.start();
    await expect.poll(async () => (await there.head({ taskId }))?.lease?.holder, patience).not.toBe(holder);
    letSay.open();
    await expect.poll(() => reason, patience).toMatchObject({ cause: "lease-lost" });
    await Promise.all([one.engine.drain(0), two.engine.drain(0)]);
  });
});

/** Works until `proceed`. Records the reasons of its aborts. */
function worker(proceed: Promise<void>, reasons: unknown[]): Omit<Agent, "card"> {
  return {
    async *execute(turn) {
      turn.signal.addEventListener("abort", () => reasons.push(turn.signal.reason));
      if (turn.text === "ask") return yield inputRequired("What?");
      yield working();
      await proceed;
    },
  };
}

/** A store whose first heartbeat answers that the process was evicted. */
function evicting(store: TaskStore, methods: Partial<TaskStore>): TaskStore {
  let isSaid = false;
  return withMethods(store, {
    heartbeat: async (request) => {
      await store.heartbeat(request);
      const isKept = isSaid;
      isSaid = true;
      return isKept;
    },
    ...methods,
  });
}

/** Reads the leases of a process, but answers only when the test opens a gate. */
function slowLeases(store: TaskStore) {
  const [read, tell] = [gate(), gate()];
  const leasesOf: TaskStore["leasesOf"] = async (request) => {
    const page = await store.leasesOf(request);
    read.open();
    await tell.opened;
    return page;
  };
  return { read, tell, leasesOf };
}

describe("the check of an evicted process for the leases that it still has", () => {
  it("leaves alone a task that is created while the store answers", async () => {
    const [proceed, reasons, [here]] = [gate(), [] as unknown[], openShared()];
    const { read, tell, leasesOf } = slowLeases(here);
    const bench = new Bench(worker(proceed.opened, reasons), {}, evicting(here, { leasesOf }));
    const starting = bench.engine.start();
    await read.opened;
    const held = await bench.send("x");
    await held.whenPast(1, neverCanceled, 20_000);
    await yieldToEventLoop();
    tell.open();
    await starting;
    expect(reasons).toEqual([]);
    proceed.open();
    expect(await settle(held)).toBe("COMPLETED");
    await bench.engine.drain(0);
  });

  it("leaves alone an execution that lets go of its lease and gets the next message's meanwhile", async () => {
    const [letGo, proceed, reasons, [here]] = [gate(), gate(), [] as unknown[], openShared()];
    const { read, tell, leasesOf } = slowLeases(here);
    const store = evicting(slowToLetGo(here, letGo.opened), { leasesOf });
    const bench = new Bench(worker(proceed.opened, reasons), {}, store);
    const held = await bench.send("ask");
    const { id: taskId } = held.accepted!.task;
    await expect.poll(async () => (await here.head({ taskId }))?.lease).toBeNull();
    const starting = bench.engine.start();
    await read.opened;
    const next = await bench.send("go on", { message: { taskId } });
    await yieldToEventLoop();
    tell.open();
    await starting;
    expect(reasons).toEqual([]);
    letGo.open();
    proceed.open();
    expect(await settle(next)).toBe("COMPLETED");
    await bench.engine.drain(0);
  });

  it.each([
    ["the store fails in it", "leasesOf"],
    ["the answer that it is necessary gets lost", "heartbeat"],
  ] as const)("is made up for when %s", async (_, method) => {
    const [reasons, [here]] = [[] as unknown[], openShared()];
    let isFailed = false;
    const failing = async (request: never): Promise<never> => {
      const answer = here[method](request) as Promise<never>;
      if (isFailed) return answer;
      isFailed = true;
      await answer;
      throw new StoreError("unavailable", "The store is away.");
    };
    const bench = new Bench(worker(new Promise(() => {}), reasons), {}, evicting(here, { [method]: failing }));
    const [taken, kept] = [await bench.send("x"), await bench.send("y")];
    for (const held of [taken, kept]) await held.whenPast(1, neverCanceled, 20_000);
    const { id: taskId } = taken.accepted!.task;
    const fence = (await here.head({ taskId }))!.lease!;
    await here.setLease({ taskId, fence, lease: { ...fence, holder: "another", attempt: 2 } });
    await yieldToEventLoop();
    await expect(bench.engine.start()).rejects.toThrow("away");
    expect(reasons).toEqual([]);
    // The second start sends the next heartbeat.
    await bench.engine.start();
    expect(reasons).toMatchObject([{ cause: "lease-lost" }]);
    expect(bench.engine.executions).toBe(1);
    await bench.engine.drain(0);
  });
});

describe("executions that were cut off", { timeout: 60_000 }, () => {
  it("run a few at a time, and those that wait are let go at the end without having counted", async () => {
    const [here, there, last] = openStores(3) as [TaskStore, TaskStore, TaskStore];
    const proceed = gate();
    let running = 0;
    let most = 0;
    const attempts: number[] = [];
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        yield working();
        attempts.push(turn.attempt);
        most = Math.max(most, ++running);
        await proceed.opened;
        running--;
      },
    };
    const stuck: Omit<Agent, "card"> = {
      async *execute() {
        yield working();
        await new Promise(() => {});
      },
    };
    // This engine was never started, so it sends no heartbeat and reclaims nothing.
    const before = new Bench(stuck, { leaseMs }, here);
    const ids = await Promise.all(
      Array.from({ length: 7 }, async (_, i) => (await before.send(`${i}`)).accepted!.task.id),
    );
    setConstants(recovered, { max: 2 });
    const after = new Bench(agent, { leaseMs }, there);
    await after.engine.start();
    await expect.poll(() => running, patience).toBe(2);
    // After an orderly end, no lease has a holder.
    await after.engine.drain(0);
    const leases = await Promise.all(ids.map(async (taskId) => (await there.head({ taskId }))?.lease));
    expect(leases.map((lease) => lease?.holder)).toEqual(ids.map(() => ""));
    expect(new Set(leases.map((lease) => lease?.attempt))).toEqual(new Set([1]));
    running = 0;
    const final = new Bench(agent, { leaseMs }, last);
    await final.engine.start();
    await expect.poll(() => running, patience).toBe(2);
    proceed.open();
    const states = async () =>
      Promise.all(ids.map(async (id) => (await final.engine.get(scope, id)).task.status?.state));
    await expect.poll(states, patience).toEqual(ids.map(() => TaskState.COMPLETED));
    expect(most).toBe(2);
    expect(new Set(attempts)).toEqual(new Set([2]));
    await Promise.all([before.engine.drain(0), final.engine.drain(0)]);
  });

  it("run though what they wait for ends before they have been parked", async () => {
    const [here, there] = openShared();
    const [proceed, park] = [gate(), gate()];
    let parks = 0;
    const slow = withMethods(there, {
      setLease: async (request) => {
        parks++;
        await park.opened;
        return there.setLease(request);
      },
    });
    const before = new Bench(asker(new Promise(() => {})), { leaseMs }, here);
    const ids = await Promise.all(
      Array.from({ length: 3 }, async (_, i) => (await before.send(`${i}`)).accepted!.task.id),
    );
    setConstants(recovered, { max: 1 });
    let runs = 0;
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute() {
        runs++;
        await proceed.opened;
        yield completed();
      },
    };
    const after = new Bench(agent, { leaseMs }, slow);
    await after.engine.start();
    await expect.poll(() => [runs, parks], patience).toEqual([1, 2]);
    proceed.open();
    await expect.poll(() => after.engine.executions, patience).toBe(0);
    park.open();
    const states = async () =>
      Promise.all(ids.map(async (id) => (await after.engine.get(scope, id)).task.status?.state));
    await expect.poll(states, patience).toEqual(ids.map(() => TaskState.COMPLETED));
    await Promise.all([before.engine.drain(0), after.engine.drain(0)]);
  });

  it("make room for others when they could not be recovered", async () => {
    const [here, there] = openShared();
    const before = new Bench(asker(new Promise(() => {})), { leaseMs }, here);
    const ids = await Promise.all(
      Array.from({ length: 3 }, async (_, i) => (await before.send(`${i}`)).accepted!.task.id),
    );
    setConstants(recovered, { max: 1 });
    const tried = new Set<string>();
    const keeper = idleKeeper(there, async (taskId, lease) => {
      if (!keeper.admit(taskId)) return keeper.park(taskId, lease);
      // Recovery fails, for example because the log cannot be read.
      tried.add(taskId);
    });
    const claim = async (): Promise<number> => {
      await keeper.heartbeat();
      await keeper.claim();
      return tried.size;
    };
    await expect.poll(claim, patience).toBe(3);
    expect([...tried].sort()).toEqual(ids.sort());
    await before.engine.drain(0);
  });
});

describe("LeaseKeeper.reclaimOrphans()", () => {
  it("lets go of a lease that nothing uses in two looks, and of no other that came between them", async () => {
    const [store, holder, taskId] = [openStore(), "me", "a"];
    const row = {
      taskId,
      ...scope,
      contextId: "c",
      state: TaskState.WORKING,
      statusTime: 1,
      position: 1,
      generation: 1,
    };
    const lease = { holder, turn: 1, attempt: 1 };
    await store.append({ head: row, expected: 0, creates: true, entries: [new Uint8Array(1)], lease });
    const keeper = idleKeeper(store, async () => {});
    await keeper.reclaimOrphans();
    // The execution ended and the next one began, with the first attempt at another turn.
    const next = { holder, turn: 2, attempt: 1 };
    await store.setLease({ taskId, fence: lease, lease: next });
    await keeper.reclaimOrphans();
    expect((await store.head({ taskId }))?.lease).toEqual(next);
    await keeper.reclaimOrphans();
    expect((await store.head({ taskId }))?.lease).toMatchObject({ holder: NO_HOLDER, turn: 2 });
  });
});

describe("a message whose acknowledgement got lost", { timeout: 60_000 }, () => {
  it("has its turn all the same", async () => {
    let lose = true;
    const kept = openStore();
    const store = withMethods(kept, {
      append: async (request) => {
        await kept.append(request);
        if (!lose) return;
        lose = false;
        throw new StoreError("failed", "The connection broke.");
      },
    });
    const agent: Omit<Agent, "card"> = {
      recover: "restart",
      async *execute(turn) {
        yield completed(`attempt ${turn.attempt}`);
      },
    };
    const bench = new Bench(agent, { leaseMs }, store);
    await bench.engine.start();
    await expect(bench.send("x")).rejects.toMatchObject({ reason: "UNAVAILABLE" });
    const all = async () =>
      (await bench.engine.list({ ...scope, limit: 5 }, {})).views.map(({ task }) => task.status?.state);
    await expect.poll(all, patience).toEqual([TaskState.COMPLETED]);
    await bench.engine.drain(0);
  });
});
