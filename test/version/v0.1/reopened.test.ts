import { describe, expect, it, onTestFinished } from "vitest";
import type { Agent } from "../../../src/agent/agent.js";
import { completed } from "../../../src/agent/event.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { StoreError, type TaskStore } from "../../../src/store/task-store.js";
import { temporaryFile } from "../../store/sqlite/files.js";
import { describeFirst, everyNth, itFirst, some } from "../../support/cover.js";
import { hangingStore, seeded, slowStore } from "../../support/slow-store.js";
import { Spoken, say, v1 } from "./server.js";

/** Echoes its message and completes. */
const agent: Omit<Agent, "card"> = {
  async *execute(turn) {
    yield completed(turn.text);
  },
};

type Json = Record<string, unknown>;

const textOf = (task: Json): unknown =>
  (task as { status: { message: { parts: { text: string }[] } } }).status.message.parts[0]?.text;

interface Said {
  readonly contextId: string;
  readonly history: readonly {
    readonly messageId: string;
    readonly role: string;
    readonly parts: { text: string }[];
  }[];
}

const byClient = ({ history }: Said): Said["history"] => history.filter(({ role }) => role === "ROLE_USER");

/** Texts of all messages of clients in the session, each of which the newest task has once. */
async function heard(spoken: Spoken): Promise<string[]> {
  const { tasks } = (await spoken.result("ListTasks", { historyLength: 100 }, v1)) as unknown as { tasks: Said[] };
  expect(new Set(tasks.map(({ contextId }) => contextId)).size).toBe(1);
  const newest = byClient((await spoken.result("GetTask", { id: "mine" }, v1)) as unknown as Said);
  const ids = newest.map(({ messageId }) => messageId).sort();
  expect(ids).toEqual([...new Set(tasks.flatMap(byClient).map(({ messageId }) => messageId))].sort());
  return newest.map(({ parts }) => parts[0]?.text ?? "").sort();
}

const places: readonly [name: string, open: () => [TaskStore, TaskStore]][] = [
  [
    "one process, memory",
    () => {
      const store = memoryStore();
      return [store, store];
    },
  ],
  [
    "two processes, SQLite",
    () => {
      const path = temporaryFile();
      return [sqliteStore({ path, shared: true }), sqliteStore({ path, shared: true })];
    },
  ],
];

describe.each(places)("a task of 0.1 that goes on behind its end: %s", (_name, open) => {
  /** Two servers, or one twice, on slow stores. */
  function servers(seed: number, maxReopens: number): [Spoken, Spoken] {
    const [one, two] = open();
    const slow = (store: TaskStore, at: number): TaskStore => slowStore(store, { random: seeded(seed + at), maxMs: 8 });
    const first = new Spoken(agent, { store: slow(one, 0), maxReopens });
    return [first, one === two ? first : new Spoken(agent, { store: slow(two, 1), maxReopens })];
  }

  it.each(some([1, 2], [3, 4, 5]))("takes messages that come at the same moment, each once, seed %s", async (seed) => {
    const [one, two] = servers(seed, 50);
    await one.result("tasks/send", say("mine", "begin", { sessionId: "s" }));
    const texts = Array.from({ length: 6 }, (_, at) => `message ${at}`);
    for (const round of [texts.slice(0, 2), texts.slice(2)]) {
      const answers = await Promise.all(
        round.map((text, at) => (at % 2 === 0 ? one : two).result("tasks/send", say("mine", text))),
      );
      for (const task of answers) expect(task).toMatchObject({ id: "mine", sessionId: "s" });
    }
    expect(await heard(two)).toEqual(["begin", ...texts]);
    expect(texts).toContain(textOf(await one.result("tasks/get", { id: "mine" })));
  });

  it.each(some([1], [2, 3]))("is begun by messages that come at the same moment, each once, seed %s", async (seed) => {
    const [one, two] = servers(seed, 50);
    const texts = Array.from({ length: 6 }, (_, at) => `message ${at}`);
    const sends = texts.map((text, at) =>
      (at % 2 === 0 ? one : two).result("tasks/send", say("mine", text, { sessionId: "s" })),
    );
    for (const task of await Promise.all(sends)) expect(task).toMatchObject({ id: "mine", sessionId: "s" });
    expect(await heard(one)).toEqual(texts);
  });

  itFirst("goes on as often as it may, and no more, whoever asks", async () => {
    const [one, two] = servers(7, 2);
    await one.result("tasks/send", say("mine", "begin", { sessionId: "s" }));
    const codes = await Promise.all(
      Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? one : two).call("tasks/send", say("mine", `message ${at}`))),
    );
    const refused = codes.filter(({ json }) => json.error !== undefined);
    for (const { json } of refused) expect(json.error).toMatchObject({ code: -32004 });
    const { totalSize } = (await one.result("ListTasks", {}, v1)) as { totalSize: number };
    expect(totalSize).toBe(3);
    expect((await heard(one)).length).toBe(1 + codes.length - refused.length);
  });

  itFirst("goes on once where a send comes twice under its key", async () => {
    const [one, two] = servers(3, 50);
    await one.result("tasks/send", say("mine", "begin"));
    const key = { "idempotency-key": "k" };
    const again = await Promise.all(
      [one, two, one, two].map((each) => each.result("tasks/send", say("mine", "again"), key)),
    );
    for (const task of again) expect(task).toMatchObject({ id: "mine" });
    expect(await heard(one)).toEqual(["again", "begin"]);
  });
});

describeFirst("a store that stops answering while a task of 0.1 goes on behind its end", () => {
  it.each(["head", "append", "load"] as const)("loses nothing in %s when it goes on", async (method) => {
    const { store, hang, go } = hangingStore(memoryStore(), [method]);
    onTestFinished(go);
    const spoken = new Spoken(agent, { store, maxReopens: 3 });
    await spoken.result("tasks/send", say("mine", "begin"));
    hang();
    const sends = ["one", "two"].map((text) => spoken.result("tasks/send", say("mine", text)));
    await new Promise((resolve) => setTimeout(resolve, 50));
    go();
    for (const task of await Promise.all(sends)) expect(task).toMatchObject({ id: "mine" });
    expect(await heard(spoken)).toEqual(["begin", "one", "two"]);
  });
});

/** A store one of whose calls goes wrong now and then: it is not done, or done all the same. */
function failingStore(inner: TaskStore, random: () => number): TaskStore {
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (!["append", "head", "load", "read"].includes(String(name))) return value.bind(target);
      return async (...args: unknown[]) => {
        // A send asks for the heads of all tasks that a name has stood for.
        const draw = random() * (name === "head" ? 8 : 1);
        if (draw < 0.08) throw new StoreError("failed", "The disk is full.");
        if (draw < 0.16) throw new StoreError("unavailable", "Not now.");
        const done = await value.apply(target, args);
        if (draw < 0.24 && name === "append") throw new StoreError("unavailable", "Who knows.");
        return done;
      };
    },
  });
}

/** Begins again where the store has cut it off. */
const resuming: Omit<Agent, "card"> = { ...agent, recover: "restart" };

describe.each(places)("a store that fails now and then while a task of 0.1 goes on: %s", (_name, open) => {
  it.each(
    everyNth(
      Array.from({ length: 12 }, (_, at) => at),
      3,
      1,
    ),
  )("has each message once that its client sends again under its key, seed %s", async (seed) => {
    const [one, two] = open();
    const failing = (store: TaskStore, at: number): TaskStore => failingStore(store, seeded(seed * 1000 + at));
    const first = new Spoken(resuming, { store: failing(one, 0), maxReopens: 10, leaseMs: 200 });
    const second = one === two ? first : new Spoken(resuming, { store: failing(two, 1), maxReopens: 10, leaseMs: 200 });
    const texts = Array.from({ length: 6 }, (_, at) => `message ${at}`);
    const send = async (text: string, at: number): Promise<Json> => {
      const headers = { "idempotency-key": text };
      for (let tries = 0; ; tries++) {
        const { json } = await ((at + tries) % 2 === 0 ? first : second).call(
          "tasks/send",
          say("mine", text, { sessionId: "s" }),
          headers,
        );
        if (json.result !== undefined) return json.result as Json;
        // Nothing but that the store fails may be in the way.
        expect(json.error).toMatchObject({ message: "The task store is not available." });
        expect(tries).toBeLessThan(100);
      }
    };
    for (const task of await Promise.all(texts.map(send))) expect(task).toMatchObject({ id: "mine", sessionId: "s" });
    const calm = new Spoken(resuming, { store: one, maxReopens: 10, leaseMs: 200 });
    expect(await heard(calm)).toEqual(texts);
  });
});
