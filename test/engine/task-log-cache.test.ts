import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { yieldToEventLoop } from "../../src/core/event-loop.js";
import { createdDraft, statusDraft } from "../../src/engine/log/draft.js";
import type { TaskLog } from "../../src/engine/log/task-log.js";
import { TaskLogCache } from "../../src/engine/log/task-log-cache.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { TaskFold } from "../../src/task/fold.js";
import { gate, firstTurn as turn } from "./support.js";
import { withMethods } from "./wrapped-stores.js";

const place = { tenant: "", owner: "", contextId: "c", state: 0, statusTime: 0, position: 0, generation: 0 };

describe("TaskLogCache", () => {
  it("keeps a log that is not in use until what it accepted is stored", async () => {
    const letGo = gate();
    const kept = memoryStore();
    const store = withMethods(kept, {
      append: async (request) => {
        await letGo.opened;
        return kept.append(request);
      },
    });
    const cache = new TaskLogCache(store);
    const log = cache.create({ taskId: "t", ...place, lease: null });
    const stored = log.append(createdDraft(turn, 1));
    cache.release(log);
    expect(await cache.acquire("t")).toBe(log);
    cache.release(log);
    letGo.open();
    await stored;
    await expect.poll(() => cache.get("t")).toBeUndefined();
    expect((await cache.acquire("t"))?.fold.position).toBe(1);
  });

  it("returns entries that were appended while the task was loaded", async () => {
    const [read, letGo] = [gate(), gate()];
    let isFirst = true;
    const kept = memoryStore();
    const store = withMethods(kept, {
      load: async (request) => {
        const loaded = await kept.load(request);
        if (!isFirst) return loaded;
        isFirst = false;
        read.open();
        await letGo.opened;
        return loaded;
      },
    });
    const cache = new TaskLogCache(store);
    const created = cache.create({ taskId: "t", ...place, lease: null });
    await created.append(createdDraft(turn, 1));
    cache.release(created);
    await expect.poll(() => cache.get("t")).toBeUndefined();

    const late = cache.acquire("t");
    await read.opened;
    // A recovery, for example, after which nothing else holds the log.
    const other = (await cache.acquire("t", { tenant: "", owner: "" })) as TaskLog;
    await other.append(statusDraft(other.messageContext, TaskState.FAILED, undefined, 2));
    cache.release(other);
    letGo.open();
    const log = (await late) as TaskLog;
    expect(log.fold).toMatchObject({ position: 2, state: TaskState.FAILED });
    cache.release(log);
    await expect.poll(() => cache.get("t")).toBeUndefined();
  });
});

it("the complete task of a followed log is not waited for once the store has lost its end", async () => {
  const cache = new TaskLogCache(memoryStore());
  const log = cache.create({ taskId: "t", ...place, lease: null });
  await log.append(createdDraft(turn, 1));
  await log.append(statusDraft(log.messageContext, TaskState.WORKING, "x".repeat(300 * 1024), 2));
  await log.stored();
  log.beginFollowing();
  log.outlineIfFollowed();
  expect(log.isWhole).toBe(false);
  let reads = 0;
  const whole = log.makeWhole(async () => {
    reads++;
    await yieldToEventLoop();
    // The store has moved to a server with fewer entries, and the log notices this a moment later.
    if (reads === 2) log.lose();
    return reads < 5 ? { fold: new TaskFold() } : undefined;
  });
  await expect(whole).rejects.toMatchObject({ kind: "unavailable" });
  expect(reads).toBe(2);
});
