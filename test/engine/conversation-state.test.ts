import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { AgentError } from "../../src/agent/errors.js";
import { artifact, completed, inputRequired, reply, working } from "../../src/agent/event.js";
import { anonymous } from "../../src/core/call.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { StoreError, type TaskStore } from "../../src/store/task-store.js";
import { scaled } from "../support/soak.js";
import { isSlow, openShared, openStore, openStores } from "./stores.js";
import { Bench, gate, quick, settle } from "./support.js";
import { withMethods } from "./wrapped-stores.js";

vi.setConfig({ testTimeout: 240_000 });

const contextId = "conversation";
const key = { tenant: "", owner: "", contextId };

async function stored(store: TaskStore, of: Partial<typeof key> = {}): Promise<unknown> {
  const state = await store.conversation({ ...key, ...of });
  return state && JSON.parse(new TextDecoder().decode(state.bytes));
}

const count = (turn: Turn): Promise<number> => turn.conversation.state.update<number>((before = 0) => before + 1);

const add = (turn: Turn, name: string): Promise<string[]> =>
  turn.conversation.state.update<string[]>((before = []) => [...before, name]);

/** An agent of one turn. */
function once(execute: Agent["execute"], more: Partial<Agent> = {}): Omit<Agent, "card"> {
  return { execute, ...more };
}

async function ask(bench: Bench, text: string, more: Parameters<Bench["send"]>[1] = {}): Promise<string> {
  const held = await bench.send(text, { ...more, message: { contextId, ...more.message } });
  try {
    return await settle(held);
  } finally {
    held.release();
  }
}

describe("turn.conversation.state", () => {
  it("is shared by the tasks of a conversation, and stored with the next event", async () => {
    const [at, go] = [gate(), gate()];
    const seen: unknown[] = [];
    const bench = new Bench(
      once(async function* (turn) {
        const { state } = turn.conversation;
        seen.push(await state.get());
        await state.set({ names: [turn.text] });
        seen.push(await state.get());
        await state.update<{ names: string[] }>((before = { names: [] }) => {
          before.names.push("and more");
          return before;
        });
        expect(await stored(bench.store)).toEqual(seen.at(-2));
        if (turn.text === "second") return;
        yield working();
        at.open();
        await go.opened;
      }),
    );
    const first = ask(bench, "first");
    await at.opened;
    await vi.waitFor(async () => expect(await stored(bench.store)).toEqual({ names: ["first", "and more"] }));
    go.open();
    expect(await first).toBe("COMPLETED");
    expect(await ask(bench, "second")).toBe("COMPLETED");
    const [before, after] = [{ names: ["first", "and more"] }, { names: ["second", "and more"] }];
    expect(seen).toEqual([undefined, { names: ["first"] }, before, { names: ["second"] }]);
    expect(await stored(bench.store)).toEqual(after);
    await bench.engine.drain(0);
  });

  it("gives copies, which an agent may change", async () => {
    const bench = new Bench(
      once(async function* (turn) {
        const { state } = turn.conversation;
        const mine = { list: [1] };
        await state.set(mine);
        mine.list.push(2);
        const read = await state.get<typeof mine>();
        read?.list.push(3);
        const updated = await state.update<typeof mine>((before) => before ?? mine);
        updated.list.push(4);
        yield completed(JSON.stringify(await state.get()));
      }),
    );
    expect(await ask(bench, "x")).toBe("COMPLETED");
    expect(await stored(bench.store)).toEqual({ list: [1] });
    await bench.engine.drain(0);
  });

  it("is another one for other owners, tenants and contexts", async () => {
    const bench = new Bench(
      once(async function* (turn) {
        yield completed(String(await count(turn)));
      }),
    );
    const other = { ...anonymous, owner: "other" };
    for (const more of [{}, { tenant: "t" }, { caller: other }, { message: { contextId: "else" } }]) {
      expect(await ask(bench, "x", more)).toBe("COMPLETED");
    }
    expect(await ask(bench, "x")).toBe("COMPLETED");
    expect(await stored(bench.store)).toBe(2);
    for (const of of [{ tenant: "t" }, { owner: "other" }, { contextId: "else" }]) {
      expect(await stored(bench.store, of)).toBe(1);
    }
    await bench.engine.drain(0);
  });

  it("keeps what a turn changes after its last event", async () => {
    const bench = new Bench(
      once(async function* (turn) {
        if (turn.history.length === 0) {
          yield inputRequired("?");
          await count(turn);
          return;
        }
        yield artifact({ text: String(await turn.conversation.state.get()) });
        // The agent does not await the change.
        void count(turn);
      }),
    );
    const held = await bench.send("x", { message: { contextId } });
    expect(await settle(held)).toBe("INPUT_REQUIRED");
    await vi.waitFor(async () => expect(await stored(bench.store)).toBe(1));
    const { id: taskId } = held.now().task;
    const before = held.now().generation;
    expect(await ask(bench, "y", { message: { taskId } })).toBe("COMPLETED");
    expect(held.now().task.artifacts[0]?.parts[0]?.content.value).toBe("1");
    // A change of state does not count as a generation, but WORKING, an artifact and COMPLETED do.
    expect(held.now().generation).toBe(before + 3);
    expect(await stored(bench.store)).toBe(2);
    held.release();
    await bench.engine.drain(0);
  });

  it("keeps what a turn changes when a message waits for the next one, and when the turn fails", async () => {
    const [at, go] = [gate(), gate()];
    const bench = new Bench(
      once(async function* (turn) {
        await count(turn);
        if (turn.text === "fails") throw new AgentError("sorry");
        if (turn.text !== "first") return;
        yield working();
        at.open();
        await go.opened;
        await count(turn);
      }),
    );
    const held = await bench.send("first", { message: { contextId } });
    await at.opened;
    const later = await bench.send("second", { message: { taskId: held.now().task.id } });
    go.open();
    expect(await settle(later)).toBe("COMPLETED");
    expect(await stored(bench.store)).toBe(3);
    expect(await ask(bench, "fails")).toBe("FAILED");
    expect(await stored(bench.store)).toBe(4);
    for (const each of [held, later]) each.release();
    await bench.engine.drain(0);
  });

  it("refuses what is not JSON, what is too large, and what comes too late", async () => {
    const errors: unknown[] = [];
    const endless: unknown[] = [];
    endless.push(endless);
    const bench = new Bench(
      once(async function* (turn) {
        const { state } = turn.conversation;
        const note = (change: Promise<unknown>): Promise<unknown> => change.catch((error) => errors.push(error));
        await note(state.set(undefined));
        await note(state.set({ names: new Map([["Ada", 1]]) }));
        await note(state.set([Number.NaN]));
        await note(state.set(endless));
        await note(state.set("x".repeat(256 * 1024 - 1)));
        await note(state.update((async () => 1) as never));
        await note(
          state.update(() => {
            throw new AgentError("mine");
          }),
        );
        await state.set("x".repeat(256 * 1024 - 2));
        yield completed();
        await note(state.set("late"));
      }),
    );
    expect(await ask(bench, "x")).toBe("COMPLETED");
    await vi.waitFor(() => expect(errors).toHaveLength(8));
    expect(errors.map((error) => String(error).replace(/(\[0\])+/, "[0]"))).toEqual([
      "TypeError: The state of a conversation is kept as JSON, but it is undefined.",
      "TypeError: The state of a conversation is kept as JSON, but .names is a value of Map.",
      "TypeError: The state of a conversation is kept as JSON, but [0] is NaN.",
      "TypeError: The state of a conversation is kept as JSON, but [0] is nested more than 100 levels deep.",
      "RangeError: The state of a conversation is at most 262144 bytes of JSON, and this has 262145.",
      "TypeError: A change of the conversation's state has to be synchronous.",
      "AgentError: mine",
      "TypeError: The turn is over and changes the state no more.",
    ]);
    expect(await stored(bench.store)).toHaveLength(256 * 1024 - 2);
    await bench.engine.drain(0);
  });

  it("runs a change again on a newer state, and fails the turn if it throws there", async () => {
    let [at, go] = [gate(), gate()];
    const bench = new Bench(
      once(async function* (turn) {
        const { state } = turn.conversation;
        if (turn.text === "quick") {
          await state.set([1]);
          return;
        }
        await state.update<number[]>((before = []) => {
          if (turn.text === "strict" && before.length > 0) throw new AgentError("It is taken.");
          return [...before, 2];
        });
        at.open();
        await go.opened;
        yield artifact({ text: "with the change" });
        yield working();
      }),
    );
    for (const text of ["strict", "slow"]) {
      [at, go] = [gate(), gate()];
      const held = await bench.send(text, { message: { contextId: text } });
      await at.opened;
      expect(await ask(bench, "quick", { message: { contextId: text } })).toBe("COMPLETED");
      go.open();
      expect(await settle(held)).toBe(text === "slow" ? "COMPLETED" : "FAILED");
      const { status, artifacts } = held.now().task;
      expect(status?.message?.parts[0]?.content.value).toBe(text === "slow" ? undefined : "It is taken.");
      expect(artifacts).toHaveLength(text === "slow" ? 1 : 0);
      expect(await stored(bench.store, { contextId: text })).toEqual(text === "slow" ? [1, 2] : [1]);
      held.release();
    }
    await bench.engine.drain(0);
  });

  it("keeps the events before a change that fails on a newer state", async () => {
    const [at, go] = [gate(), gate()];
    const bench = new Bench(
      once(async function* (turn) {
        const { state } = turn.conversation;
        if (turn.text === "quick") return await state.set([1]);
        await state.get();
        at.open();
        await go.opened;
        yield artifact({ text: "before" });
        await state.update<number[]>((before = []) => {
          if (before.length > 0) throw new AgentError("It is taken.");
          return [2];
        });
        yield artifact({ text: "with the change" });
        yield artifact({ text: "after" });
      }),
    );
    const held = await bench.send("slow", { message: { contextId } });
    await at.opened;
    expect(await ask(bench, "quick")).toBe("COMPLETED");
    go.open();
    expect(await settle(held)).toBe("FAILED");
    const { status, artifacts } = held.now().task;
    expect(artifacts.map(({ parts }) => parts[0]?.content.value)).toEqual(["before"]);
    expect(status?.message?.parts[0]?.content.value).toBe("It is taken.");
    expect(await stored(bench.store)).toEqual([1]);
    held.release();
    await bench.engine.drain(0);
  });

  it("goes with the first event of an agent that decides between task and message", async () => {
    const bench = new Bench(
      once(
        async function* (turn) {
          await count(turn);
          if (turn.text === "reply") yield reply("hello");
          else yield artifact({ text: "done" });
        },
        { responds: "either" },
      ),
    );
    expect(await ask(bench, "task")).toBe("COMPLETED");
    expect(await stored(bench.store)).toBe(1);
    await expect(bench.reply("reply")).rejects.toMatchObject({ reason: "INTERNAL" });
    expect(JSON.stringify(bench.logged.map(({ facts }) => String((facts as { err?: unknown }).err)))).toContain(
      "unless the agent `remembers`",
    );
    await bench.engine.drain(0);
  });

  it("cannot be changed by an agent that answers directly and does not remember", async () => {
    const errors: unknown[] = [];
    const bench = new Bench(
      once(
        async function* (turn) {
          await count(turn).catch((error) => errors.push(error));
          yield reply(String(await turn.conversation.state.get()));
        },
        { responds: "message" },
      ),
    );
    expect((await bench.reply("x")).parts[0]?.content.value).toBe("undefined");
    expect(String(errors[0])).toContain("only if it `remembers`");
    await bench.engine.drain(0);
  });
});

describe("a turn that changes the state and runs again after a crash", () => {
  it("skips what is stored, and makes the other changes", async () => {
    const [one, two] = openShared();
    const at = gate();
    const seen: unknown[] = [];
    const agent = once(
      async function* (turn) {
        await count(turn);
        yield artifact({ text: "first" });
        await count(turn);
        await count(turn);
        yield artifact({ text: "second" });
        await count(turn);
        if (turn.attempt === 1) {
          await sleep(20);
          at.open();
          await new Promise(() => {});
        }
        seen.push(await turn.conversation.state.get());
      },
      { recover: "restart" },
    );
    const options = { leaseMs: 600, limits: { ...quick, maxStallMs: 0 } };
    const [dead, alive] = [new Bench(agent, options, one), new Bench(agent, options, two)];
    await Promise.all([dead.engine.start(), alive.engine.start()]);
    const held = await dead.send("x", { message: { contextId } });
    await at.opened;
    await vi.waitFor(async () => expect(await stored(one)).toBe(3));
    dead.engine.abandon();
    const { id: taskId } = held.now().task;
    const handle = await alive.engine.open({ tenant: "", owner: "" }, taskId);
    await vi.waitFor(() => expect(handle.now().task.status?.state).toBe(3), { timeout: 30_000 });
    expect(seen).toEqual([4]);
    expect(await stored(two)).toBe(4);
    for (const each of [held, handle]) each.release();
    await alive.engine.drain(0);
  });

  it("makes a change in a step, after steps that have made and stored theirs", async () => {
    const [one, two] = openShared();
    const at = gate();
    const agent = once(
      async function* (turn) {
        for (const name of ["first", "second", "third"]) {
          await turn.step(name, async () => {
            await add(turn, name);
            if (name !== "second" || turn.attempt > 1) return;
            await turn.emit(working());
            // The change is stored with the event, before the step ends.
            await vi.waitFor(async () => expect(await stored(one)).toContain(name));
          });
          if (turn.attempt > 1 || name !== "second") continue;
          at.open();
          await new Promise(() => {});
        }
        await add(turn, "last");
      },
      { recover: "restart" },
    );
    const options = { leaseMs: 600, limits: { ...quick, maxStallMs: 0 } };
    const [dead, alive] = [new Bench(agent, options, one), new Bench(agent, options, two)];
    await Promise.all([dead.engine.start(), alive.engine.start()]);
    const held = await dead.send("x", { message: { contextId } });
    await at.opened;
    dead.engine.abandon();
    const handle = await alive.engine.open({ tenant: "", owner: "" }, held.now().task.id);
    await vi.waitFor(() => expect(handle.now().task.status?.state).toBe(3), { timeout: 30_000 });
    expect(await stored(two)).toEqual(["first", "second", "third", "last"]);
    for (const each of [held, handle]) each.release();
    await alive.engine.drain(0);
  });
});

/** A move of a turn: a change, an event, a pause or a question. */
type Move = "count" | "event" | "rest" | "ask";
const moves = fc.array(fc.constantFrom<Move>("count", "count", "event", "rest", "ask"), { maxLength: 8 });

/** A store in which other writers sometimes change the state before an append. */
function contended(store: TaskStore, draw: () => number): TaskStore {
  return withMethods(store, {
    append: async (request) => {
      if (request.conversation !== undefined && draw() < 0.2) {
        const { expected } = request.conversation;
        const stored = await store.conversation(request.head);
        const now = stored?.version ?? 0;
        // Simulates another turn that has just written the same state.
        const bytes = stored?.bytes ?? new TextEncoder().encode("[]");
        if (now === expected && draw() < 0.5) await touch(store, now, bytes);
      }
      return store.append(request);
    },
  });
}

let touched = 0;
async function touch(store: TaskStore, expected: number, bytes: Uint8Array): Promise<void> {
  const taskId = `toucher-${++touched}`;
  const head = { taskId, ...key, state: 2, statusTime: 1, position: 1, generation: 1 };
  const conversation = { expected, version: expected + 1_000_000, bytes };
  await store
    .append({ head, expected: 0, creates: true, entries: [new Uint8Array([1])], conversation })
    .catch((error) => expect((error as StoreError).kind).toBe("conversation-moved"));
}

describe("interleaved turns on one conversation's state", () => {
  it("lose no update and make none twice, whatever the engines, the stores and the order", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(moves, { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 1, max: 3 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        async (scripts, processes, chances) => {
          const draw = (): number => (chances.next().value as number | undefined) ?? 1;
          const made: string[] = [];
          const agent = once(async function* (turn) {
            const index = Number(turn.text);
            let turnCount = 0;
            for (const move of scripts[index] ?? []) {
              if (move === "count") {
                const id = `${index}.${++turnCount}`;
                made.push(id);
                const seen = await turn.conversation.state.update<string[]>((before = []) => [...before, id]);
                // The state contains each of its changes once and in order.
                const own = seen.filter((each) => each.startsWith(`${index}.`));
                expect(own).toEqual(Array.from({ length: turnCount }, (_, at) => `${index}.${at + 1}`));
              } else if (move === "event") yield working("on it");
              else if (move === "rest") await new Promise((resolve) => setImmediate(resolve));
              else yield inputRequired("?");
            }
          });
          const stores = openStores(processes).map((store) => contended(store, draw));
          const benches = stores.map((store) => new Bench(agent, { limits: quick }, store));
          await Promise.all(benches.map(({ engine }) => engine.start()));
          const ends = await Promise.all(
            scripts.map((_, index) => ask(benches[index % benches.length] as Bench, String(index))),
          );
          expect(ends.filter((end) => end === "FAILED")).toEqual([]);
          await Promise.all(benches.map(({ engine }) => engine.drain(1_000)));
          const state = ((await stored(stores[0] as TaskStore)) ?? []) as string[];
          expect(state.toSorted()).toEqual(made.toSorted());
        },
      ),
      { numRuns: isSlow ? scaled(3, 5) : scaled(20, 120) },
    );
  });
});

describe("a store that refuses a version which it has", () => {
  it("fails the task instead of being asked for ever", async () => {
    const inner = memoryStore();
    const store = withMethods(inner, {
      append: async (request) => {
        if (request.conversation !== undefined) throw new StoreError("conversation-moved", "no");
        return inner.append(request);
      },
    });
    const bench = new Bench(
      once(async function* (turn) {
        await count(turn);
        yield working();
      }),
      { limits: quick },
      store,
    );
    const held = await bench.send("x", { message: { contextId } });
    await vi.waitFor(() =>
      expect(bench.logged.map(({ message }) => message)).toContain("an execution could not be stored"),
    );
    held.release();
    await bench.engine.drain(0);
    await openStore().close();
  });
});
