import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { InterruptedRequest, TaskStore } from "../task-store.js";
import { create, follow, leaseOf, type StoreContract, scenario } from "./setup.js";

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
      // A message changes no status, and neither its time.
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
