import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ChangePoll, followTasks } from "../../src/admin/operations/task-changes.js";
import type { AdminParts } from "../../src/admin/parts.js";
import { LazyAbortController } from "../../src/core/async.js";
import { type SqliteStore, sqliteStore } from "../../src/store/sqlite/index.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { clients, openTasks, type TaskWorld } from "./task-world.js";

vi.setConfig({ testTimeout: 60_000 });

const worlds: TaskWorld[] = [];
const stores: SqliteStore[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const world of worlds.splice(0)) await world.close();
  for (const store of stores.splice(0)) await store.close();
});

/** A shared store that counts the polls for changes by other processes. */
function countingStore(path: string): { readonly store: SqliteStore; readonly polls: () => number } {
  const store = sqliteStore({ path, shared: true });
  const { listLeased } = store;
  let count = 0;
  store.listLeased = (request) => {
    count++;
    return listLeased(request);
  };
  return { store, polls: () => count };
}

describe("FollowTasks on a shared store", () => {
  it("polls once for all streams", async () => {
    const path = temporaryFile();
    const one = await openTasks(sqliteStore({ path, shared: true }));
    const { store, polls } = countingStore(path);
    const two = await openTasks(store);
    worlds.push(one, two);
    const stop = new AbortController();
    const told = new Set<number>();
    const streams = Array.from({ length: 30 }, async (_, stream) => {
      const tasks = clients.grpc(two.address).followTasks({ owner: "bob" }, { signal: stop.signal });
      for await (const _ of tasks) told.add(stream);
    });
    // The next poll reports each change to a stream that has begun.
    while (told.size < streams.length) {
      await one.send("bob", "say anything");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    told.clear();
    const before = polls();
    await one.send("bob", "say at last");
    await vi.waitFor(() => expect(told.size).toBe(streams.length), { timeout: 30_000 });
    expect(polls() - before).toBeLessThan(streams.length / 2);
    stop.abort();
    await Promise.allSettled(streams);
  });

  it("reports a change by this process once", async () => {
    const world = await openTasks(sqliteStore({ path: temporaryFile(), shared: true }));
    worlds.push(world);
    const stop = new AbortController();
    const told: string[] = [];
    const follow = async (): Promise<void> => {
      const tasks = clients.grpc(world.address).followTasks({ owner: "bob" }, { signal: stop.signal });
      for await (const { task } of tasks) told.push(`${task?.taskId} ${task?.position}`);
    };
    const following = follow().catch(() => {});
    while (told.length === 0) {
      await world.send("bob", "say anything");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // Time for two polls of changes by other processes.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(new Set(told).size).toBe(told.length);
    stop.abort();
    await following;
  });

  it("reports a change that a failed poll has met", async () => {
    let leased: readonly unknown[] = [{ taskId: "one", position: 1 }];
    let failures = 0;
    const head = async () => {
      if (failures-- > 0) throw new Error("The store fails.");
      return { taskId: "one", position: 2 };
    };
    const store = { shared: true, listLeased: async () => leased, listHeads: async () => ({ heads: [] }), head };
    const poll = new ChangePoll(store as never);
    const told: string[] = [];
    const stream = { add: (taskId: string) => told.push(taskId), fail: () => {} } as never;
    await poll.subscribe(stream);
    leased = [];
    failures = 1;
    await expect(poll.subscribe({} as never)).rejects.toThrow("fails");
    await vi.waitFor(() => expect(told).toEqual(["one"]), { timeout: 10_000 });
    poll.unsubscribe(stream);
  });

  it("polls only while there is a stream", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { store, polls } = countingStore(temporaryFile());
    stores.push(store);
    const poll = new ChangePoll(store);
    const control = { onChange: () => () => {}, isClosing: false };
    const parts = { store, engine: { control } } as unknown as AdminParts;
    const follow = (client: LazyAbortController): Promise<unknown> =>
      followTasks(parts, poll, {} as never, { call: { cancellation: client } } as never).next();
    /** Advances the timers by ten seconds. Returns the number of polls in that time. */
    const wait = async (): Promise<number> => {
      const before = polls();
      for (let second = 0; second < 10; second++) {
        await vi.advanceTimersByTimeAsync(1_000);
        await nextTurn();
      }
      return polls() - before;
    };
    for (let round = 0; round < 2; round++) {
      expect(await wait()).toBe(0);
      const calls = [new LazyAbortController(), new LazyAbortController()];
      const ended = calls.map(follow);
      expect(await wait()).toBeGreaterThan(5);
      for (const call of calls) call.cancel();
      await Promise.all(ended);
    }
    expect(await wait()).toBe(0);
  });
});
