import { describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, reply, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import type { Caller } from "../../src/core/call.js";
import type { FixedLimit, Limits } from "../../src/core/limits.js";
import type { TaskHandle } from "../../src/engine/read/task-handle.js";
import { queuedMessages } from "../../src/engine/run/execution-slots.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { setConstants } from "../support/constants.js";
import { openShared, openStore } from "./stores.js";
import { Bench, gate, quick, settle, story } from "./support.js";
import { mortal } from "./wrapped-stores.js";

vi.setConfig({ testTimeout: 60_000 });

const patience = { timeout: 20_000 };

const as = (owner: string): { caller: Caller } => ({
  caller: { owner, authenticated: true, scopes: [], claims: { secret: owner } },
});

/** An agent whose turns wait until the test releases them. Records what they did. */
class Work {
  readonly begun: string[] = [];
  readonly turns: Turn[] = [];
  most = 0;
  #running = 0;
  readonly #waiting = new Map<string, () => void>();

  readonly agent: Omit<Agent, "card"> = { execute: (turn) => this.#execute(turn) };

  async *#execute(turn: Turn) {
    this.begun.push(turn.text);
    this.turns.push(turn);
    this.most = Math.max(this.most, ++this.#running);
    try {
      yield working();
      await this.pass(turn.text, turn.signal);
      if (turn.text.startsWith("ask")) yield inputRequired("More?");
      else yield artifact({ text: turn.text });
    } finally {
      this.#running--;
    }
  }

  pass(text: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(text, resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** Releases a turn that has begun. */
  async end(text: string): Promise<void> {
    await expect.poll(() => this.#waiting.has(text), patience).toBe(true);
    this.#waiting.get(text)?.();
    this.#waiting.delete(text);
  }

  /** Releases all turns, including later ones, until `count` have begun. */
  async endAll(count: number): Promise<void> {
    await expect
      .poll(() => {
        for (const [text, go] of this.#waiting) {
          this.#waiting.delete(text);
          go();
        }
        return this.begun.length;
      }, patience)
      .toBe(count);
    for (const go of this.#waiting.values()) go();
  }
}

function benchOf(work: { agent: Omit<Agent, "card"> }, limits: Partial<Limits>, store: TaskStore = openStore()): Bench {
  return new Bench(work.agent, { limits: { ...quick, ...limits } }, store);
}

const idOf = (task: TaskHandle): string => task.now().task.id;
const stateOf = (task: TaskHandle): string => TaskState[task.now().task.status?.state ?? 0] ?? "?";
const limit = (name: keyof Limits | FixedLimit) => ({
  reason: "TOO_MANY_REQUESTS",
  metadata: { limit: name },
  retryAfterMs: 1_000,
});

async function stored(bench: Bench, owner: string): Promise<number> {
  return (await bench.store.list({ tenant: "", owner, limit: 1 })).total;
}

describe("executions beyond the limit", () => {
  it("wait as accepted tasks, and begin in their order when others end", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 2 });
    const tasks = [];
    for (const text of ["1", "2", "3", "4"]) tasks.push(await bench.send(text));
    await expect.poll(() => work.begun, patience).toEqual(["1", "2"]);
    expect(stateOf(tasks[2] as TaskHandle)).toBe("SUBMITTED");
    expect([bench.engine.running, bench.engine.queued]).toEqual([2, 2]);
    // The stored lease shows that no process has begun the turn.
    const head = await bench.store.head({ taskId: idOf(tasks[2] as TaskHandle) });
    expect(head?.lease?.attempt).toBeLessThan(0);
    await work.end("2");
    await expect.poll(() => work.begun, patience).toEqual(["1", "2", "3"]);
    await work.end("1");
    await expect.poll(() => work.begun, patience).toEqual(["1", "2", "3", "4"]);
    expect(work.turns[3]?.attempt).toBe(1);
    expect((await bench.store.head({ taskId: idOf(tasks[3] as TaskHandle) }))?.lease?.attempt).toBe(1);
    await work.end("3");
    await work.end("4");
    for (const task of tasks) expect(await settle(task)).toBe("COMPLETED");
    expect(work.most).toBe(2);
    await expect.poll(() => [bench.engine.running, bench.engine.queued], patience).toEqual([0, 0]);
  });

  it("keep what was known of their callers, and are streamed from the beginning", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 1 });
    await bench.send("1");
    const told = story(await bench.send("2", as("alice")));
    await work.end("1");
    await work.end("2");
    expect(await told).toEqual(["WORKING", "artifact 2", "COMPLETED"]);
    expect(work.turns[1]?.caller.claims).toEqual({ secret: "alice" });
  });

  it("of one owner do not keep others waiting: owners take turns", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 1 });
    for (let i = 0; i < 20; i++) await bench.send(`a${i}`, as("alice"));
    await bench.send("b", as("bob"));
    await bench.send("c", as("carol"));
    await work.endAll(22);
    expect(work.begun.indexOf("b")).toBeLessThanOrEqual(2);
    expect(work.begun.indexOf("c")).toBeLessThanOrEqual(3);
    expect(work.begun.filter((text) => text.startsWith("a"))).toEqual(Array.from({ length: 20 }, (_, i) => `a${i}`));
  });

  it("of one owner leave room for others", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutionsPerOwner: 1 });
    for (let i = 0; i < 3; i++) await bench.send(`a${i}`, as("alice"));
    await bench.send("b0", as("bob"));
    await bench.send("b1", as("bob"));
    await bench.send("other", { ...as("alice"), tenant: "another" });
    await expect.poll(() => work.begun.toSorted(), patience).toEqual(["a0", "b0", "other"]);
    await work.end("b0");
    await expect.poll(() => work.begun.toSorted(), patience).toEqual(["a0", "b0", "b1", "other"]);
    await work.endAll(6);
  });

  it.each([
    ["maxQueuedExecutions", { maxQueuedExecutions: 2 }],
    ["maxQueuedExecutionsPerOwner", { maxQueuedExecutionsPerOwner: 2 }],
    ["maxQueuedBytes", {}],
  ] as const)("are refused beyond %s, and nothing of them is stored", async (name, limits) => {
    if (name === "maxQueuedBytes") setConstants(queuedMessages, { maxBytes: 500 });
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 1, ...limits });
    await bench.send("1", as("alice"));
    let accepted = 1;
    const refused = await (async () => {
      for (;;) {
        const error = await bench.send("x", as("alice")).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (error !== undefined) return error;
        accepted++;
      }
    })();
    expect(refused).toMatchObject(limit(name));
    expect(accepted).toBeLessThanOrEqual(4);
    expect(await stored(bench, "alice")).toBe(accepted);
    if (name === "maxQueuedExecutionsPerOwner") await bench.send("b", as("bob"));
    const all = accepted + (name === "maxQueuedExecutionsPerOwner" ? 1 : 0);
    await work.endAll(all);
    await expect.poll(() => bench.engine.running, patience).toBe(0);
    const again = await bench.send("again", as("alice"));
    await work.end("again");
    expect(await settle(again)).toBe("COMPLETED");
  });

  it("have no more bytes than maxQueuedBytes, however many owners and tenants they are of", async () => {
    const work = new Work();
    setConstants(queuedMessages, { maxBytes: 20_000 });
    const bench = benchOf(work, { maxExecutions: 1, maxQueuedExecutions: 100 });
    await bench.send("1");
    const large = "x".repeat(9_000);
    await bench.send(large, as("alice"));
    await bench.send(large, { ...as("alice"), tenant: "another" });
    await expect(bench.send(large, { ...as("alice"), tenant: "third" })).rejects.toMatchObject(limit("maxQueuedBytes"));
    await expect(bench.send(large, as("bob"))).rejects.toMatchObject(limit("maxQueuedBytes"));
    await work.endAll(3);
  });

  it("give the same task to a repeated send, also when the queue is full", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 1, maxQueuedExecutions: 1 });
    await bench.send("1");
    const idempotency = { key: "k", fingerprint: "f" };
    const first = await bench.send("2", { idempotency });
    await expect(bench.send("3")).rejects.toMatchObject(limit("maxQueuedExecutions"));
    const again = await bench.send("2", { idempotency });
    expect(idOf(again)).toBe(idOf(first));
    await work.endAll(2);
    expect(await settle(again)).toBe("COMPLETED");
  });

  it("are canceled at once, and their agent hears of nothing", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 1, maxQueuedExecutions: 1, cancelGraceMs: 3_600_000 });
    await bench.send("1");
    const queued = await bench.send("2");
    await expect(bench.send("3")).rejects.toMatchObject(limit("maxQueuedExecutions"));
    const { task } = await bench.engine.cancel({ tenant: "", owner: "" }, idOf(queued));
    expect(task.status?.state).toBe(TaskState.CANCELED);
    const next = await bench.send("3");
    await work.end("1");
    await work.end("3");
    expect(await settle(next)).toBe("COMPLETED");
    expect(work.begun).toEqual(["1", "3"]);
  });

  it("take messages to a task that waits, which have their turns in order", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 1 });
    await bench.send("1");
    const queued = await bench.send("ask 2");
    const taskId = idOf(queued);
    const later = await bench.send("3", { message: { taskId } });
    await work.end("1");
    await work.end("ask 2");
    await work.end("3");
    expect(await settle(later)).toBe("COMPLETED");
    expect(work.begun).toEqual(["1", "ask 2", "3"]);
  });

  it("an agent that never ends has its place until it is canceled", async () => {
    const work = new Work();
    const never: Omit<Agent, "card"> = {
      async *execute(turn) {
        if (turn.text !== "never") return yield* work.agent.execute(turn) as AsyncIterable<never>;
        yield working();
        await new Promise(() => {});
      },
    };
    const bench = benchOf({ agent: never }, { maxExecutions: 1, cancelGraceMs: 20 });
    const first = await bench.send("never");
    const second = await bench.send("2");
    await first.whenPast(1, neverCanceled, 20_000);
    expect(work.begun).toEqual([]);
    await bench.engine.cancel({ tenant: "", owner: "" }, idOf(first));
    await work.end("2");
    expect(await settle(second)).toBe("COMPLETED");
  });
});

describe("a message to a task at rest", () => {
  it("waits for a place as a new task does, and its stream stays open", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 1 });
    const task = await bench.send("ask 1");
    await work.end("ask 1");
    expect(await settle(task)).toBe("INPUT_REQUIRED");
    await expect.poll(() => bench.engine.running, patience).toBe(0);
    await bench.send("2");
    const more = await bench.send("3", { message: { taskId: idOf(task) } });
    const told = story(more);
    const idle = settle(more);
    expect(bench.engine.queued).toBe(1);
    await work.end("2");
    await work.end("3");
    expect(await idle).toBe("COMPLETED");
    expect(await told).toEqual(["WORKING", "artifact 3", "COMPLETED"]);
  });

  it("is refused where the queue is full, and the task is as it was", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 1, maxQueuedExecutions: 1 });
    const task = await bench.send("ask 1");
    await work.end("ask 1");
    await settle(task);
    await expect.poll(() => bench.engine.running, patience).toBe(0);
    await bench.send("2");
    await bench.send("3");
    const { position } = task.now();
    const message = { taskId: idOf(task) };
    await expect(bench.send("4", { message })).rejects.toMatchObject(limit("maxQueuedExecutions"));
    expect((await bench.store.head(message))?.position).toBe(position);
    await work.endAll(3);
    const more = await bench.send("4", { message });
    await work.end("4");
    expect(await settle(more)).toBe("COMPLETED");
  });

  it("needs no place while its agent still runs", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxExecutions: 1, maxQueuedExecutions: 1 });
    const task = await bench.send("1");
    await bench.send("other");
    const more = await bench.send("2", { message: { taskId: idOf(task) } });
    await work.end("1");
    await work.end("2");
    expect(await settle(more)).toBe("COMPLETED");
    await work.end("other");
  });
});

describe("the end of a server with a queue", () => {
  it("lets go of what waits, tells its callers, and the next start begins it", async () => {
    const [store, next] = openShared();
    const work = new Work();
    const bench = new Bench(work.agent, { limits: { ...quick, maxExecutions: 1 }, leaseMs: 240 }, store);
    await bench.engine.start();
    await bench.send("1");
    const queued = await bench.send("2");
    const waiting = queued.whenIdle(neverCanceled, 60_000).catch((error: unknown) => error);
    const draining = bench.engine.drain(60_000);
    // The waiting call fails immediately, although the running turn has a minute.
    expect(await waiting).toMatchObject({ reason: "UNAVAILABLE" });
    expect((await next.head({ taskId: idOf(queued) }))?.lease).toMatchObject({ holder: "", attempt: -1 });
    await work.end("1");
    await draining;
    expect(work.begun).toEqual(["1"]);
    const later = new Work();
    const after = new Bench(later.agent, { leaseMs: 240 }, next);
    await after.engine.start();
    await later.end("2");
    const held = await after.engine.open({ tenant: "", owner: "" }, idOf(queued));
    await expect.poll(() => stateOf(held), patience).toBe("COMPLETED");
    expect(later.turns[0]?.attempt).toBe(1);
    await after.engine.drain(0);
  });

  it("a crash loses nothing that waits: it is begun elsewhere, by an agent that runs nothing twice", async () => {
    const [one, two] = openShared();
    const { store, die } = mortal(one);
    const work = new Work();
    const limits = { ...quick, maxExecutions: 1, maxStallMs: 0 };
    const bench = new Bench(work.agent, { limits, leaseMs: 240 }, store);
    await bench.engine.start();
    const ran = await bench.send("1");
    await ran.whenPast(1, neverCanceled, 20_000);
    const queued = [await bench.send("2"), await bench.send("3"), await bench.send("4")];
    die();
    const later = new Work();
    const after = new Bench(later.agent, { limits: { ...quick, maxExecutions: 2 }, leaseMs: 240 }, two);
    await after.engine.start();
    await later.endAll(3);
    const scope = { tenant: "", owner: "" };
    for (const task of queued) {
      const held = await after.engine.open(scope, idOf(task));
      await expect.poll(() => stateOf(held), patience).toBe("COMPLETED");
    }
    // The turn that ran when its process died fails.
    const held = await after.engine.open(scope, idOf(ran));
    await expect.poll(() => stateOf(held), patience).toBe("FAILED");
    expect(later.most).toBeLessThanOrEqual(2);
    expect(later.begun.toSorted()).toEqual(["2", "3", "4"]);
    await after.engine.drain(0);
  });

  it("what was cut off and waits for a place again is no attempt more", async () => {
    const [one, two] = openShared();
    const work = new Work();
    const restart = { ...work.agent, recover: "restart" as const };
    const bench = new Bench(restart, { limits: { ...quick, maxExecutions: 4 }, leaseMs: 240 }, one);
    await bench.engine.start();
    const tasks = [];
    for (const text of ["1", "2", "3"]) tasks.push(await bench.send(text));
    await expect.poll(() => work.begun.length, patience).toBe(3);
    await bench.engine.drain(0);
    const later = new Work();
    const again = { ...later.agent, recover: "restart" as const };
    const after = new Bench(again, { limits: { ...quick, maxExecutions: 1 }, leaseMs: 240, maxRestarts: 1 }, two);
    await after.engine.start();
    await expect.poll(() => after.engine.queued, patience).toBe(2);
    await later.endAll(3);
    expect(later.most).toBe(1);
    expect(later.turns.map(({ attempt }) => attempt)).toEqual([2, 2, 2]);
    for (const task of tasks) {
      const held = await after.engine.open({ tenant: "", owner: "" }, idOf(task));
      await expect.poll(() => stateOf(held), patience).toBe("COMPLETED");
    }
    await after.engine.drain(0);
  });
});

describe("direct answers", () => {
  const direct = (work: Work, responds: "message" | "either"): Omit<Agent, "card"> => ({
    responds,
    async *execute(turn) {
      work.begun.push(turn.text);
      await work.pass(turn.text, turn.signal);
      if (turn.text.startsWith("task")) yield* [working(), completed()];
      else yield reply(turn.text);
    },
  });

  it.each(["message", "either"] as const)(
    "of an agent that responds with %s take a place, and wait for one",
    async (kind) => {
      const work = new Work();
      const bench = benchOf({ agent: direct(work, kind) }, { maxExecutions: 1, maxQueuedExecutions: 1 });
      const first = bench.reply("1");
      await expect.poll(() => work.begun, patience).toEqual(["1"]);
      const second = bench.reply("2");
      await expect.poll(() => bench.engine.queued, patience).toBe(1);
      await expect(bench.reply("3")).rejects.toMatchObject(limit("maxQueuedExecutions"));
      await work.end("1");
      expect((await first).contextId).not.toBe("");
      await work.end("2");
      await second;
      const last = bench.reply("4");
      await work.end("4");
      await last;
      expect(work.begun).toEqual(["1", "2", "4"]);
    },
  );

  it("whose client goes away leaves the queue", async () => {
    const work = new Work();
    const bench = benchOf({ agent: direct(work, "message") }, { maxExecutions: 1, maxQueuedExecutions: 1 });
    const first = bench.reply("1");
    await expect.poll(() => work.begun, patience).toEqual(["1"]);
    const client = new AbortController();
    const second = bench.engine.send(bench.order("2", { client })).catch((error: unknown) => error);
    await expect.poll(() => bench.engine.queued, patience).toBe(1);
    client.abort();
    expect(await second).toMatchObject({ reason: "CANCELLED" });
    expect(bench.engine.queued).toBe(0);
    await work.end("1");
    await first;
    expect(work.begun).toEqual(["1"]);
  });

  it("that wait when the server ends are refused at once", async () => {
    const work = new Work();
    const bench = benchOf({ agent: direct(work, "message") }, { maxExecutions: 1 });
    const first = bench.reply("1");
    await expect.poll(() => work.begun, patience).toEqual(["1"]);
    const second = bench.reply("2").catch((error: unknown) => error);
    await expect.poll(() => bench.engine.queued, patience).toBe(1);
    const draining = bench.engine.drain(0);
    expect(await second).toMatchObject({ reason: "UNAVAILABLE" });
    await work.end("1");
    await first;
    await draining;
  });

  it("that come to the queue when it has ended are refused at once", async () => {
    const [work, accepted] = [new Work(), gate()];
    let asked = 0;
    const agent: Omit<Agent, "card"> = {
      ...direct(work, "message"),
      async accept({ text }) {
        asked++;
        if (text === "3") await accepted.opened;
      },
    };
    const bench = benchOf({ agent }, { maxExecutions: 1 });
    const first = bench.reply("1");
    await expect.poll(() => work.begun, patience).toEqual(["1"]);
    const second = bench.reply("2").catch((error: unknown) => error);
    await expect.poll(() => bench.engine.queued, patience).toBe(1);
    const client = new AbortController();
    const third = bench.engine.send(bench.order("3", { client })).catch((error: unknown) => error);
    await expect.poll(() => asked, patience).toBe(3);
    // A server aborts its remaining calls when the drain ends.
    const draining = bench.engine.drain(5_000).then(() => client.abort());
    // The drain has closed the queue.
    expect(await second).toMatchObject({ reason: "UNAVAILABLE" });
    accepted.open();
    expect(await third).toMatchObject({ reason: "UNAVAILABLE" });
    await work.end("1");
    await first;
    await draining;
  });

  it("that become tasks keep their place until those end", async () => {
    const work = new Work();
    const agent: Omit<Agent, "card"> = {
      responds: "either",
      async *execute(turn) {
        work.begun.push(turn.text);
        yield working();
        await work.pass(turn.text, turn.signal);
        yield completed();
      },
    };
    const bench = benchOf({ agent }, { maxExecutions: 1 });
    const first = await bench.send("1");
    const second = bench.send("2");
    await expect.poll(() => bench.engine.queued, patience).toBe(1);
    await work.end("1");
    expect(await settle(first)).toBe("COMPLETED");
    await work.end("2");
    expect(await settle(await second)).toBe("COMPLETED");
    await expect.poll(() => [bench.engine.running, bench.engine.queued], patience).toEqual([0, 0]);
  });
});

describe("open tasks of one owner", () => {
  it("are so many, whatever is stored already; those that are over do not count", async () => {
    const store = openStore();
    const work = new Work();
    const before = benchOf(work, {}, store);
    const tasks = [await before.send("ask 1", as("alice")), await before.send("2", as("alice"))];
    await work.end("ask 1");
    await settle(tasks[0] as TaskHandle);
    const bench = benchOf(work, { maxOpenTasksPerOwner: 3 }, store);
    tasks.push(await bench.send("3", as("alice")));
    await expect(bench.send("4", as("alice"))).rejects.toMatchObject(limit("maxOpenTasksPerOwner"));
    await bench.send("b", as("bob"));
    expect(await stored(bench, "alice")).toBe(3);
    await work.end("2");
    await settle(tasks[1] as TaskHandle);
    await expect.poll(() => bench.send("5", as("alice")).then(idOf, () => undefined), patience).toBeDefined();
    await expect(bench.send("6", as("alice"))).rejects.toMatchObject(limit("maxOpenTasksPerOwner"));
    // A message to an existing task creates no task.
    const more = await bench.send("7", { ...as("alice"), message: { taskId: idOf(tasks[0] as TaskHandle) } });
    await work.end("7");
    expect(await settle(more)).toBe("COMPLETED");
    for (const text of ["3", "b", "5"]) await work.end(text);
  });

  it("are counted when many are created at once", async () => {
    const work = new Work();
    const bench = benchOf(work, { maxOpenTasksPerOwner: 5 });
    const sent = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => bench.send(`${i}`, as("alice"))));
    const accepted = sent.filter(({ status }) => status === "fulfilled").length;
    expect(await stored(bench, "alice")).toBe(accepted);
    expect(accepted).toBeGreaterThan(0);
    expect(accepted).toBeLessThanOrEqual(5);
    // A send during the creation of other tasks may count one of them twice. It is refused and may be repeated.
    await expect
      .poll(async () => {
        await bench.send("more", as("alice")).catch(() => {});
        return stored(bench, "alice");
      }, patience)
      .toBe(5);
    await expect(bench.send("6", as("alice"))).rejects.toMatchObject(limit("maxOpenTasksPerOwner"));
    expect(await stored(bench, "alice")).toBe(5);
    await work.endAll(5);
  });
});
