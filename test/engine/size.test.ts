import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { headOf } from "../../contract/setup.js";
import { MessageSchema, type Task, TaskSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema } from "../../gen/parley/log/v1/log_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, metadata, working } from "../../src/agent/event.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { foldStored } from "../../src/engine/log/fold-stored.js";
import { artifactSize } from "../../src/engine/log/plan.js";
import { TaskReader } from "../../src/engine/read/task-reader.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskHead, TaskStore } from "../../src/store/task-store.js";
import { encodeEntry } from "../../src/task/entry.js";
import { TaskFold, type View } from "../../src/task/fold.js";
import { jsonWriter } from "../../src/wire/json-writer.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { setConstants } from "../support/constants.js";
import { openDatabase } from "../support/database.js";
import { openStore } from "./stores.js";
import { Bench, gate, scope, settle } from "./support.js";

const limits = { ...defaultLimits, maxTaskBytes: 20_000, maxMessageBytes: 6_000 };

const jsonOf = (task: Task): number => Buffer.byteLength(jsonWriter(TaskSchema)(task));

/** The text of the status. */
const said = (task: Task): string => {
  const content = task.status?.message?.parts[0]?.content;
  return content?.case === "text" ? content.value : "";
};

/** Runs an agent to its end. Returns its task. */
async function outcome(execute: Agent["execute"]): Promise<Task> {
  setConstants(artifactSize, { maxBytes: 12_000 });
  const bench = new Bench({ execute }, { limits });
  const held = await bench.send("go");
  await settle(held);
  const { task } = held.now();
  held.release();
  return task;
}

describe("a task that would become too large", { timeout: 60_000 }, () => {
  it("takes no further message, stores nothing of it, and can still be read, listed and canceled", async () => {
    const bench = new Bench(
      {
        async *execute() {
          yield inputRequired("more?");
        },
      },
      { limits },
    );
    const held = await bench.send("begin");
    await settle(held);
    const taskId = held.now().task.id;
    let accepted = 0;
    let refused: unknown;
    for (; refused === undefined && accepted < 20; accepted++) {
      try {
        const next = await bench.send("x".repeat(5_000), { message: { taskId } });
        await settle(next);
        next.release();
      } catch (error) {
        refused = error;
        accepted--;
      }
    }
    expect(refused).toMatchObject({ reason: "TASK_TOO_LARGE", metadata: { taskId, maxTaskBytes: "20000" } });
    expect(accepted).toBe(3);
    const { task } = await bench.engine.get(scope, taskId);
    expect(task.history.filter(({ parts }) => JSON.stringify(parts).length > 5_000)).toHaveLength(accepted);
    expect(jsonOf(task)).toBeLessThanOrEqual(limits.maxTaskBytes);
    expect((await bench.engine.list({ ...scope, limit: 5 }, {})).views).toHaveLength(1);
    expect((await bench.engine.cancel(scope, taskId)).task.status?.state).toBe(TaskState.CANCELED);
    held.release();
  });

  it("counts a text as JSON has it: six bytes for a control character", async () => {
    const bench = new Bench({ execute: async function* () {} }, { limits });
    await expect(bench.send("\u0001".repeat(1_100))).rejects.toMatchObject({ reason: "REQUEST_TOO_LARGE" });
    const held = await bench.send("x".repeat(1_100));
    held.release();
  });

  it("fails when its agent goes on, with the reason, and the agent may clean up", async () => {
    let cleaned = false;
    const task = await outcome(async function* () {
      try {
        for (let piece = 0; piece < 1_000; piece++) yield artifact({ name: `a${piece}`, text: "x".repeat(900) });
        yield completed("never");
      } finally {
        cleaned = true;
      }
    });
    expect(task.status?.state).toBe(TaskState.FAILED);
    expect(said(task)).toBe("The task would be larger than it may be, 20000 bytes as JSON.");
    expect(task.artifacts.length).toBeGreaterThan(10);
    expect(jsonOf(task)).toBeLessThan(limits.maxTaskBytes + 1_000);
    expect(cleaned).toBe(true);
  });

  it("fails when its metadata grows too large, and has room for what is replaced", async () => {
    const grown = await outcome(async function* () {
      for (let at = 0; at < 100; at++) yield metadata({ [`member ${at}`]: "x".repeat(900) });
    });
    expect(said(grown)).toBe("The task would be larger than it may be, 20000 bytes as JSON.");
    expect(Object.keys(grown.metadata ?? {}).length).toBeGreaterThan(10);
    expect(jsonOf(grown)).toBeLessThan(limits.maxTaskBytes + 1_000);
    const replaced = await outcome(async function* () {
      for (let at = 0; at < 50; at++) {
        yield metadata({ member: `${at}`.padEnd(900) });
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    });
    expect([replaced.status?.state, replaced.metadata?.member]).toEqual([TaskState.COMPLETED, "49".padEnd(900)]);
  });

  it("fails for an artifact that grows too large, whichever way its agent yields", async () => {
    for (const wait of [false, true]) {
      const task = await outcome(async function* () {
        for (let piece = 0; piece < 100; piece++) {
          yield artifact({ name: "a", text: "x".repeat(500), append: true });
          if (wait) await new Promise((resolve) => setTimeout(resolve, 1));
        }
      });
      expect(said(task)).toBe("The artifact would be larger than it may be, 12000 bytes as JSON.");
      expect(jsonOf(task)).toBeLessThan(artifactSize.maxBytes + 2_000);
    }
  });

  it("lets the event loop go on while an agent yields large pieces without waiting", async () => {
    let rounds = 0;
    let over = false;
    const bench = new Bench({
      async *execute() {
        const count = (): void => {
          rounds++;
          if (!over) setImmediate(count);
        };
        setImmediate(count);
        // Stays below the limit of unstored bytes, so that only the store makes this agent wait.
        for (let piece = 0; piece < 3; piece++) yield artifact({ name: `a${piece}`, text: "x".repeat(1024 * 1024) });
        over = true;
        yield completed(`${rounds}`);
      },
    });
    const held = await bench.send("go");
    await settle(held);
    expect(Number(said(held.now().task))).toBeGreaterThanOrEqual(3);
    held.release();
  });

  it("has room for an artifact that is replaced again and again", async () => {
    const task = await outcome(async function* () {
      for (let piece = 0; piece < 300; piece++) yield artifact({ id: "a", text: "x".repeat(5_000) });
    });
    expect(task.status?.state).toBe(TaskState.COMPLETED);
  });

  it("fails with a short reason for a long error, and for an end that does not fit", async () => {
    const long = await outcome(async function* () {
      yield working();
      yield completed("x".repeat(30_000));
    });
    expect(long.status?.state).toBe(TaskState.FAILED);
    expect(jsonOf(long)).toBeLessThan(2_000);
  });
});

describe("a task that cannot be read or shown", { timeout: 60_000 }, () => {
  it("is left out of lists and named in the log, and the pages go on", async () => {
    const path = temporaryFile();
    const bench = new Bench({ execute: async function* () {} }, {}, sqliteStore(path));
    const ids: string[] = [];
    for (let task = 0; task < 9; task++) {
      const held = await bench.send("go");
      await settle(held);
      ids.push(held.now().task.id);
      held.release();
    }
    const broken = ids[4] ?? "";
    const db = openDatabase(path);
    db.command("UPDATE segment SET bytes = x'ff' WHERE task_id = ?").run(broken);
    db.close();
    const seen: string[] = [];
    let after: { statusTime: number; taskId: string } | undefined;
    do {
      const page = await bench.engine.list({ ...scope, limit: 2, ...(after && { after }) }, {});
      seen.push(...page.views.map(({ task }) => task.id));
      after = page.next;
    } while (after !== undefined);
    expect(seen.sort()).toEqual(ids.filter((id) => id !== broken));
    const named = bench.logged.filter(({ facts }) => (facts as { taskId?: string }).taskId === broken);
    expect(named.map(({ message }) => message)).toEqual(["a task cannot be read; it is left out of a list"]);
    await expect(bench.engine.get(scope, broken!)).rejects.toMatchObject({ reason: "TASK_DAMAGED" });
    await bench.store.close();
  });

  it("may be too large for any text: an older version took it", async () => {
    const store = memoryStore();
    const named: object[] = [];
    const keep = (facts: object): void => void named.push(facts);
    const logger = { debug: keep, info: keep, warn: keep, error: keep };
    const fold = new TaskFold();
    fold.apply(createdEntry("huge", "x".repeat(4 * 1024 * 1024), 140));
    const live = (taskId: string) => (taskId === "huge" ? { head: headOf({ taskId }), fold } : undefined);
    for (const taskId of ["a", "huge", "z"]) {
      const entries = [encodeEntry(createdEntry(taskId, "hello", 1))];
      await store.append({ head: headOf({ taskId, ...scope }), expected: 0, creates: true, entries });
    }
    const reader = new TaskReader({ store, logger, live, caughtUp: never, maxPageBytes: 1_000, maxKeptBytes: 1_000 });
    const page = await reader.list({ ...scope, limit: 1 }, {});
    expect(page.views.map(({ task }) => task.id)).toEqual(["z"]);
    const next = await reader.list({ ...scope, limit: 1, after: page.next! }, {});
    expect(next.views).toEqual([]);
    expect(named).toEqual([
      expect.objectContaining({ taskId: "huge", err: expect.objectContaining({ reason: "TASK_TOO_LARGE" }) }),
    ]);
    const last = await reader.list({ ...scope, limit: 1, after: next.next! }, {});
    expect(last.views.map(({ task }) => task.id)).toEqual(["a"]);
    // The task is small enough without its history.
    const short = await reader.list({ ...scope, limit: 1, after: page.next! }, { historyLength: 0 });
    expect(short.views.map(({ task }) => task.id)).toEqual(["huge"]);
  });
});

describe("a large task", { timeout: 60_000 }, () => {
  it("is folded in slices, between which the event loop goes on", async () => {
    const store = sqliteStore({ path: temporaryFile(), stallMs: 60_000, writeTimeoutMs: 60_000 });
    const head = headOf({ taskId: "a" });
    await store.append({ head, expected: 0, creates: true, entries: [encodeEntry(createdEntry("a", "hello", 1))] });
    for (let position = 2; position <= 31; position++) {
      const value = { append: position > 2, artifact: { artifactId: "x", parts: partsOf("x".repeat(1024 * 1024), 1) } };
      const place = { position, generation: position };
      const entry = create(LogEntrySchema, { ...place, event: { case: "artifact", value } });
      await store.append({ head: { ...head, ...place }, expected: position - 1, entries: [encodeEntry(entry)] });
    }
    let turns = 0;
    let over = false;
    const count = (): void => {
      turns++;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    const folded = await foldStored(store, "a");
    over = true;
    expect(turns).toBeGreaterThan(3);
    expect(folded?.fold.task.artifacts[0]?.parts).toHaveLength(30);
    await store.close();
  });

  it("is read once for all calls that ask for it at the same time", async () => {
    const store = memoryStore();
    const head = headOf({ taskId: "a", ...scope, position: 4, generation: 4 });
    const events = Array.from({ length: 3 }, (_, index) => {
      const value = { append: index > 0, artifact: { artifactId: "x", parts: partsOf("x".repeat(1024 * 1024), 1) } };
      return create(LogEntrySchema, { position: index + 2, generation: index + 2, event: { case: "artifact", value } });
    });
    const entries = [createdEntry("a", "hello", 1), ...events].map(encodeEntry);
    await store.append({ head, expected: 0, creates: true, entries });
    let reads = 0;
    const counting = {
      ...store,
      read(request: Parameters<typeof store.read>[0]) {
        reads++;
        return store.read(request);
      },
    };
    const reader = new TaskReader({
      store: counting,
      logger: silentLogger,
      live: () => undefined,
      caughtUp: never,
      maxPageBytes: 1,
      maxKeptBytes: 1,
    });
    const found = await Promise.all(Array.from({ length: 10 }, () => reader.get("a", head)));
    expect(new Set(found.map((each) => each?.fold)).size).toBe(1);
    expect(reads).toBeLessThanOrEqual(4);
    // Later calls see an entry that was appended in the meantime.
    const more = create(LogEntrySchema, {
      position: 5,
      generation: 5,
      event: { case: "artifact", value: { artifact: { artifactId: "y" } } },
    });
    await store.append({ head: { ...head, position: 5, generation: 5 }, expected: 4, entries: [encodeEntry(more)] });
    expect((await reader.get("a", head))?.fold.position).toBe(5);
  });

  it("is folded while three others are, and waits while there are more, also when one cannot be read", async () => {
    const store = memoryStore();
    const heads = await Promise.all(Array.from({ length: 10 }, (_, index) => largeTask(store, `t${index}`)));
    const reading = new Set<string>();
    const [begun, go] = [gate(), gate()];
    const waiting = {
      ...store,
      async read(request: Parameters<typeof store.read>[0]) {
        reading.add(request.taskId);
        if (reading.size === 4) begun.open();
        await go.opened;
        if (request.taskId === "t1") throw new Error("The disk is gone.");
        return store.read(request);
      },
    };
    const folded = Promise.allSettled(heads.map(({ taskId }) => foldStored(waiting, taskId)));
    await begun.opened;
    await nextRound();
    expect(reading.size).toBe(4);
    go.open();
    expect((await folded).map(({ status }) => status === "fulfilled")).toEqual(
      heads.map(({ taskId }) => taskId !== "t1"),
    );
  });

  it("is on four pages that are made at a time, and the next page is begun when one is made", async () => {
    const store = memoryStore();
    const owners = Array.from({ length: 10 }, (_, index) => `owner-${index}`);
    for (const owner of owners) {
      for (const place of ["a", "b"]) await largeTask(store, `${owner} ${place}`, owner);
    }
    const read: string[] = [];
    const noting = {
      ...store,
      read(request: Parameters<typeof store.read>[0]) {
        read.push(request.taskId.slice(0, -2));
        return store.read(request);
      },
    };
    const options = { store: noting, logger: silentLogger, live: () => undefined, caughtUp: never };
    const reader = new TaskReader({ ...options, maxPageBytes: 100 * 1024 * 1024, maxKeptBytes: 1 });
    const pages = await Promise.all(owners.map((owner) => reader.list({ ...scope, owner, limit: 5 }, {})));
    expect(pages.map(({ views }) => views.length)).toEqual(owners.map(() => 2));
    expect(new Set(read).size).toBe(10);
    // The reader reads the second task of some page before it starts the last page.
    const begun = new Set<string>();
    const second = read.findIndex((owner) => begun.size === begun.add(owner).size);
    expect(new Set(read.slice(0, second)).size).toBeLessThanOrEqual(4);
  });

  it("is kept in memory after it was read only beside others up to a size, and the newest one always", async () => {
    const store = memoryStore();
    const heads = await Promise.all(["a", "b", "c", "d", "e", "f"].map((taskId) => largeTask(store, taskId)));
    const kept = async (maxKeptBytes: number): Promise<number> => {
      const options = { store, logger: silentLogger, live: () => undefined, caughtUp: never, maxPageBytes: 1 };
      const reader = new TaskReader({ ...options, maxKeptBytes });
      const folds: WeakRef<TaskFold>[] = [];
      for (const head of heads) folds.push(new WeakRef((await reader.get(head.taskId, head))?.fold as TaskFold));
      // A WeakRef keeps its target until the current round of the event loop ends.
      await nextRound();
      collectGarbage();
      const alive = folds.filter((fold) => fold.deref() !== undefined).length;
      // This call keeps the reader alive.
      expect((await reader.get("a", heads[0] as TaskHead))?.fold.position).toBe(2);
      return alive;
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      expect([await kept(1), await kept(9 * 1024 * 1024), await kept(100 * 1024 * 1024)]).toEqual([1, 2, 6]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("is not read while it is written: a list waits for the answer to what it has seen in the store", async () => {
    const store = openStore();
    const append = store.append.bind(store);
    const [stored, told] = [gate(), gate()];
    store.append = async (request) => {
      const done = await append(request);
      if (request.head.position < 6) return done;
      stored.open();
      await told.opened;
      return done;
    };
    const bench = new Bench(
      {
        async *execute() {
          for (let piece = 0; piece < 8; piece++) {
            yield artifact({ name: "a", text: "x".repeat(512 * 1024), append: true });
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        },
      },
      {},
      store,
    );
    const held = await bench.send("go");
    await stored.opened;
    const read = vi.spyOn(store, "read");
    const listing = bench.engine.list({ ...scope, limit: 5 }, {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    told.open();
    expect((await listing).views[0]?.position).toBeGreaterThanOrEqual(6);
    expect(read).not.toHaveBeenCalled();
    await settle(held);
    held.release();
  });

  it("is not read again for a call right after it was written", async () => {
    const store = openStore();
    const bench = new Bench(
      {
        async *execute() {
          for (let piece = 0; piece < 6; piece++)
            yield artifact({ name: "a", text: "x".repeat(512 * 1024), append: true });
        },
      },
      {},
      store,
    );
    const held = await bench.send("go");
    await settle(held);
    const { task } = held.now();
    held.release();
    const read = vi.spyOn(store, "read");
    const shown = await bench.engine.get(scope, task.id);
    expect((await bench.engine.list({ ...scope, limit: 5 }, {})).views).toHaveLength(1);
    expect(read).not.toHaveBeenCalled();
    expect(shown.task).toEqual(task);
  });
});

describe("list()", () => {
  it("shows a task that is kept as each page wants it, the same one while nothing changes", async () => {
    const store = memoryStore();
    const reader = new TaskReader({
      store,
      logger: silentLogger,
      live: () => undefined,
      caughtUp: never,
      maxPageBytes: 1_000_000,
      maxKeptBytes: 1,
    });
    const head = headOf({ taskId: "a", ...scope, position: 2, generation: 2 });
    const value = { artifact: { artifactId: "x", parts: partsOf("found", 1) } };
    const found = create(LogEntrySchema, { position: 2, generation: 2, event: { case: "artifact", value } });
    const entries = [createdEntry("a", "hello", 1), found].map(encodeEntry);
    await store.append({ head, expected: 0, creates: true, entries });
    const shown = async (view: View) => (await reader.list({ ...scope, limit: 9 }, view)).views[0]?.task;
    const first = await shown({});
    expect(await shown({})).toBe(first);
    const counts = async (view: View) => [(await shown(view))?.history.length, (await shown(view))?.artifacts.length];
    expect(await counts({})).toEqual([1, 1]);
    expect(await counts({ artifacts: false })).toEqual([1, 0]);
    expect(await counts({ artifacts: false, historyLength: 0 })).toEqual([0, 0]);
    expect(await counts({ historyLength: 0 })).toEqual([0, 1]);
    expect(await counts({})).toEqual([1, 1]);
  });

  it("shows a task as it is now, whatever it was on the page before", async () => {
    const store = memoryStore();
    const reader = new TaskReader({
      store,
      logger: silentLogger,
      live: () => undefined,
      caughtUp: never,
      maxPageBytes: 1_000_000,
      maxKeptBytes: 1,
    });
    const head = headOf({ taskId: "a", ...scope, state: TaskState.SUBMITTED });
    await store.append({ head, expected: 0, creates: true, entries: [encodeEntry(createdEntry("a", "hello", 1))] });
    const state = async () => (await reader.list({ ...scope, limit: 9 }, {})).views[0]?.task.status?.state;
    expect([await state(), await state()]).toEqual([TaskState.SUBMITTED, TaskState.SUBMITTED]);
    const value = { status: { state: TaskState.WORKING } };
    const entry = create(LogEntrySchema, { position: 2, generation: 2, event: { case: "status", value } });
    const changed = { ...head, state: TaskState.WORKING, position: 2, generation: 2 };
    await store.append({ head: changed, expected: 1, entries: [encodeEntry(entry)] });
    expect([await state(), await state()]).toEqual([TaskState.WORKING, TaskState.WORKING]);
  });
});

function partsOf(value: string, count: number) {
  return Array.from({ length: count }, () => ({ content: { case: "text" as const, value } }));
}

function createdEntry(taskId: string, text: string, count: number): LogEntry {
  const history = [create(MessageSchema, { messageId: "m", parts: partsOf(text, count) })];
  const value = { id: taskId, contextId: "c", status: { state: TaskState.SUBMITTED }, history };
  return create(LogEntrySchema, { position: 1, generation: 1, event: { case: "created", value } });
}

/** Stores a task of 4 MiB in two entries. */
async function largeTask(store: TaskStore, taskId: string, owner: string = scope.owner): Promise<TaskHead> {
  const head = headOf({ taskId, ...scope, owner, position: 2, generation: 2 });
  const value = { artifact: { artifactId: "x", parts: partsOf("x".repeat(1024 * 1024), 1) } };
  const found = create(LogEntrySchema, { position: 2, generation: 2, event: { case: "artifact", value } });
  const entries = [createdEntry(taskId, "x".repeat(1024 * 1024), 3), found].map(encodeEntry);
  await store.append({ head, expected: 0, creates: true, entries });
  return head;
}

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

const never = async (): Promise<undefined> => undefined;
