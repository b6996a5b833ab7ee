import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, inputRequired, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { createdDraft, messageDraft, statusDraft } from "../../src/engine/log/draft.js";
import { TaskExists } from "../../src/engine/log/outage.js";
import { TaskLog } from "../../src/engine/log/task-log.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { placeDraft } from "../../src/task/entry.js";
import { TaskFold } from "../../src/task/fold.js";
import { Bench, gate, scope, firstTurn as turn } from "./support.js";

const head = {
  taskId: "t",
  ...scope,
  contextId: "c",
  state: 0,
  statusTime: 0,
  position: 0,
  generation: 0,
  lease: null,
};
const working1 = () => statusDraft({ taskId: "t", contextId: "c" }, TaskState.WORKING, undefined, 1);

describe("a task log", () => {
  it("stores and shows what is behind an entry whose caller throws when it is stored", async () => {
    const log = new TaskLog({ store: memoryStore(), head, fold: new TaskFold(), snapshotAt: 0 });
    const first = log.appendAnd(createdDraft(turn, 1), {}, () => {
      throw new Error("not now");
    });
    const second = log.append(working1());
    await expect(first).rejects.toThrow("not now");
    expect((await second).position).toBe(2);
    expect(log.fold.state).toBe(TaskState.WORKING);
    await log.append(working1());
    expect(log.fold.position).toBe(3);
  });

  it("takes nothing before the entry that creates its task, and none twice", async () => {
    const log = new TaskLog({ store: memoryStore(), head, fold: new TaskFold(), snapshotAt: 0 });
    await expect(log.append(working1())).rejects.toMatchObject({ reason: "INTERNAL" });
    await expect(log.append(messageDraft(turn, 1))).rejects.toMatchObject({ reason: "INTERNAL" });
    await log.append(createdDraft(turn, 1));
    await expect(log.append(createdDraft(turn, 1))).rejects.toMatchObject({ reason: "INTERNAL" });
    const fold = new TaskFold();
    expect(() => fold.apply(placeDraft(working1(), 1, 1))).toThrow(
      'A task must begin with exactly one "created" entry.',
    );
  });

  it("says that its task exists where another process creates it first, whoever reads that", async () => {
    const kept = memoryStore({ shared: true });
    const late = gate();
    const store = new Proxy(kept, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name !== "append") return typeof value === "function" ? value.bind(target) : value;
        return (request: Parameters<TaskStore["append"]>[0]) => late.opened.then(() => target.append(request));
      },
    });
    const log = new TaskLog({ store, head, fold: new TaskFold(), snapshotAt: 0 });
    const creating = log.append(createdDraft(turn, 1));
    await new TaskLog({ store: kept, head, fold: new TaskFold(), snapshotAt: 0 }).append(createdDraft(turn, 1));
    const refreshed = log.refresh();
    late.open();
    await expect(creating).rejects.toBeInstanceOf(TaskExists);
    await refreshed;
    expect(log.fold.position).toBe(1);
  });
});

/** A shared store whose tasks can be made unreadable. */
function breakable(): { store: TaskStore; unreadable: Set<string> } {
  const unreadable = new Set<string>();
  const kept = memoryStore({ shared: true });
  const store = new Proxy(kept, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "read") return typeof value === "function" ? value.bind(target) : value;
      return async (request: Parameters<TaskStore["read"]>[0]) =>
        unreadable.has(request.taskId) ? [new Uint8Array([0xff])] : target.read(request);
    },
  });
  return { store, unreadable };
}

describe("a task that cannot be read", () => {
  it("does not keep news of other tasks from their readers", async () => {
    const { store, unreadable } = breakable();
    const go = gate();
    const agent: Omit<Agent, "card"> = {
      async *execute() {
        yield working();
        await go.opened;
        yield artifact({ name: "a", text: "x" });
        yield inputRequired("?");
      },
    };
    const [one, two] = [new Bench(agent, {}, store), new Bench(agent, {}, store)];
    await Promise.all([one.engine.start(), two.engine.start()]);
    const texts = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? "bad" : "good"));
    const here = await Promise.all(texts.map((text) => one.send(text)));
    for (const held of here) await held.whenPast(1, neverCanceled, 5_000);
    const ids = here.map((held) => held.accepted!.task.id);
    const there = await Promise.all(ids.map((id) => two.engine.open(scope, id)));
    for (const [i, id] of ids.entries()) if (texts[i] === "bad") unreadable.add(id);
    const news = there
      .filter((_, i) => texts[i] === "good")
      .map((held) => held.whenPast(held.now().generation, neverCanceled, 3_000));
    go.open();
    expect(await Promise.all(news)).toEqual(news.map(() => true));
    const told = (): string[] => two.logged.map(({ message }) => message);
    await expect.poll(told, { timeout: 5_000 }).toContainEqual(expect.stringContaining("could not be read"));
    for (const held of [...here, ...there]) held.release();
    await Promise.all([one.engine.drain(0), two.engine.drain(0)]);
  });
});
