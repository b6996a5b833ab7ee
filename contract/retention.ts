import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { InterruptedRequest, TaskStore } from "../src/store/task-store.js";
import {
  bytesOf,
  configOf,
  countTo,
  create,
  follow,
  headOf,
  leaseOf,
  listAll,
  numbered,
  OWNER,
  readAll,
  type StoreContract,
  scenario,
} from "./setup.js";

/** `removeFinished`. */
export function retentionContract(contract: StoreContract): void {
  contract.suite.describe("removeFinished()", () => {
    choosing(contract);
    removing(contract);
  });
}

function choosing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "removes what finished before a time, and nothing that is open", async (store) => {
    for (const state of [1, 2, 3, 4, 5, 6, 7, 8]) {
      await create(store, { taskId: `old-${state}`, state, statusTime: 99 });
      await create(store, { taskId: `new-${state}`, state, statusTime: 100 });
    }
    expect(await store.removeFinished({ before: 100, limit: 100 })).toBe(4);
    const left = await listAll(store, { ...OWNER, limit: 100 });
    expect(left.filter((taskId) => taskId.startsWith("old")).sort()).toEqual(["old-1", "old-2", "old-6", "old-8"]);
    expect(left.filter((taskId) => taskId.startsWith("new"))).toHaveLength(8);
    expect(await store.removeFinished({ before: 100, limit: 100 })).toBe(0);
  });

  scenario(contract, "goes by the time of the last status, not of the first", async (store) => {
    const head = await create(store, { taskId: "a", statusTime: 10 });
    await follow(store, head, { state: TaskState.COMPLETED, statusTime: 200 });
    expect(await store.removeFinished({ before: 200, limit: 10 })).toBe(0);
    expect(await store.removeFinished({ before: 201, limit: 10 })).toBe(1);
    expect(await store.head({ taskId: "a" })).toBeUndefined();
  });

  scenario(contract, "removes at most as many as asked for, and says with fewer that none is left", async (store) => {
    for (let index = 0; index < 150; index++) {
      await create(store, { taskId: `${index}`, state: TaskState.FAILED, statusTime: index });
    }
    expect(await store.removeFinished({ before: 1_000, limit: 70 })).toBe(70);
    expect(await store.removeFinished({ before: 1_000, limit: 70 })).toBe(70);
    expect(await store.removeFinished({ before: 1_000, limit: 70 })).toBe(10);
    expect((await store.list({ ...OWNER, limit: 1 })).total).toBe(0);
  });
}

function removing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "removes everything that is the task's, and nothing that is another's", async (store) => {
    for (const taskId of ["gone", "kept"]) {
      const state = taskId === "gone" ? TaskState.COMPLETED : TaskState.WORKING;
      const send = { ...OWNER, key: taskId, fingerprint: "f", taskId, position: 1 };
      const head = headOf({ taskId, state, position: 3 });
      await store.append({ head, expected: 0, creates: true, entries: numbered(0, 3), send, lease: leaseOf() });
      await store.saveSnapshot({ taskId, snapshot: { position: 2, bytes: bytesOf("fold") } });
      await store.putPushConfig(configOf({ taskId, configId: "x" }));
    }
    const kept = await store.load({ taskId: "kept" });
    expect(await store.removeFinished({ before: 9_999, limit: 10 })).toBe(1);

    expect(await store.head({ taskId: "gone" })).toBeUndefined();
    expect(await store.load({ taskId: "gone" })).toBeUndefined();
    expect(await readAll(store, "gone")).toEqual([]);
    expect(await store.findSend({ ...OWNER, key: "gone" })).toBeUndefined();
    expect(await store.getPushConfig({ taskId: "gone", configId: "x" })).toBeUndefined();
    expect(await store.listPushConfigs({ taskId: "gone", after: "", limit: 10 })).toEqual([]);

    expect(await store.load({ taskId: "kept" })).toEqual(kept);
    expect(await readAll(store, "kept")).toEqual(countTo(3));
    expect(await store.findSend({ ...OWNER, key: "kept" })).toMatchObject({ taskId: "kept" });
    expect(await store.getPushConfig({ taskId: "kept", configId: "x" })).toMatchObject({ position: 3 });
    expect((await store.list({ ...OWNER, limit: 10 })).total).toBe(1);
    const held = await store.leasesOf({ holder: "holder", after: "", limit: 10 });
    expect(held.map(({ taskId }) => taskId)).toEqual(["kept"]);
  });

  scenario(
    contract,
    "frees the task's id and its idempotency key, with nothing of the old task behind",
    async (store) => {
      const send = { ...OWNER, key: "key", fingerprint: "f", taskId: "a", position: 1 };
      const head = headOf({ taskId: "a", state: TaskState.COMPLETED });
      const request = { head, expected: 0, creates: true, entries: numbered(0, 1), send };
      await store.append(request);
      await store.saveSnapshot({ taskId: "a", snapshot: { position: 1, bytes: bytesOf("fold") } });
      await store.putPushConfig(configOf({ taskId: "a", configId: "x" }));
      await store.removeFinished({ before: 9_999, limit: 10 });
      await store.append(request);
      expect(await store.head({ taskId: "a" })).toEqual(head);
      expect(await readAll(store, "a")).toEqual(["1"]);
      expect((await store.load({ taskId: "a" }))?.snapshot).toBeUndefined();
      expect(await store.listPushConfigs({ taskId: "a", after: "", limit: 10 })).toEqual([]);
    },
  );

  scenario(contract, "refuses to go on with a task that was removed", async (store) => {
    const working = await create(store, { taskId: "a" });
    await follow(store, working, { state: TaskState.COMPLETED });
    await store.removeFinished({ before: 9_999, limit: 10 });
    await expect(follow(store, working)).rejects.toMatchObject({ kind: "conflict" });
  });
}

/** `listInterrupted`. */
export function interruptedContract(contract: StoreContract): void {
  const { expect } = contract.suite;
  const ids = async (store: TaskStore, request: InterruptedRequest): Promise<string[]> =>
    (await store.listInterrupted(request)).map(({ taskId }) => taskId);

  contract.suite.describe("listInterrupted()", () => {
    scenario(contract, "finds what waits for its client, of every owner, the oldest first", async (store) => {
      for (const state of [1, 2, 3, 4, 5, 6, 7, 8]) {
        await create(store, { taskId: `state-${state}`, state, statusTime: 50 - state });
      }
      await create(store, { taskId: "b", tenant: "t", owner: "o", state: TaskState.INPUT_REQUIRED, statusTime: 10 });
      await create(store, { taskId: "a", tenant: "u", owner: "p", state: TaskState.AUTH_REQUIRED, statusTime: 10 });
      expect(await ids(store, { before: 100, limit: 10 })).toEqual(["a", "b", "state-8", "state-6"]);
      expect(await ids(store, { before: 44, limit: 10 })).toEqual(["a", "b", "state-8"]);
    });

    scenario(contract, "gives whole heads, page by page", async (store) => {
      const state = TaskState.INPUT_REQUIRED;
      const heads = [];
      for (const taskId of ["a", "b", "c", "d", "e"]) {
        heads.push(await create(store, { taskId, state, statusTime: taskId < "c" ? 1 : 2, lease: leaseOf() }));
      }
      const first = await store.listInterrupted({ before: 9, limit: 3 });
      expect(first).toEqual(heads.slice(0, 3));
      expect(await store.listInterrupted({ before: 9, after: first[2], limit: 3 })).toEqual(heads.slice(3));
      expect(await store.listInterrupted({ before: 9, after: heads[4], limit: 3 })).toEqual([]);
    });

    scenario(contract, "finds each by its status as it is now", async (store) => {
      let head = await create(store, { taskId: "a", state: TaskState.INPUT_REQUIRED, statusTime: 10 });
      // A message does not change the status or its time.
      head = await follow(store, head);
      expect(await ids(store, { before: 11, limit: 10 })).toEqual(["a"]);
      head = await follow(store, head, { state: TaskState.AUTH_REQUIRED, statusTime: 20 });
      expect(await ids(store, { before: 11, limit: 10 })).toEqual([]);
      expect(await ids(store, { before: 21, limit: 10 })).toEqual(["a"]);
      head = await follow(store, head, { state: TaskState.WORKING });
      expect(await ids(store, { before: 99, limit: 10 })).toEqual([]);
      head = await follow(store, head, { state: TaskState.INPUT_REQUIRED });
      expect(await ids(store, { before: 99, limit: 10 })).toEqual(["a"]);
      await follow(store, head, { state: TaskState.CANCELED, statusTime: 30 });
      expect(await ids(store, { before: 99, limit: 10 })).toEqual([]);
    });
  });
}
