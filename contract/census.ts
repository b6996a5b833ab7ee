import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { claimOne, complete, createDue, NOW } from "./delivery-setup.js";
import { create, follow, type StoreContract, scenario } from "./setup.js";

/** `census` and `onCommit`. */
export function censusContract(contract: StoreContract): void {
  contract.suite.describe("census()", () => {
    const { expect } = contract.suite;

    scenario(contract, "counts nothing in an empty store", async (store) => {
      expect(await store.census()).toMatchObject({ openTasks: 0, interrupted: 0, due: 0, dead: 0 });
      expect(store.kind).toMatch(/^[a-z]+$/);
    });

    scenario(contract, "counts open and interrupted tasks of all owners", async (store) => {
      const working = await create(store, { taskId: "working", owner: "one" });
      await create(store, { taskId: "asked", owner: "two", tenant: "", state: TaskState.INPUT_REQUIRED });
      await create(store, { taskId: "login", owner: "two", tenant: "other", state: TaskState.AUTH_REQUIRED });
      await create(store, { taskId: "over", state: TaskState.FAILED });
      expect(await store.census()).toMatchObject({ openTasks: 3, interrupted: 2 });
      await follow(store, working, { state: TaskState.COMPLETED });
      expect(await store.census()).toMatchObject({ openTasks: 2, interrupted: 2 });
    });

    scenario(contract, "counts due deliveries, claimed ones too, and dead ones", async (store) => {
      await createDue(store, "a");
      await createDue(store, "b");
      expect(await store.census()).toMatchObject({ due: 2, dead: 0 });
      const claimed = await claimOne(store, { limit: 1 });
      expect(await store.census()).toMatchObject({ due: 2, dead: 0 });
      await complete(store, claimed, { kind: "dead", at: NOW, failure: "no" });
      expect(await store.census()).toMatchObject({ due: 1, dead: 1 });
      const other = await claimOne(store, { limit: 1 });
      await complete(store, other, { kind: "done" }, { position: other.headPosition });
      expect(await store.census()).toMatchObject({ due: 0, dead: 1 });
    });
  });

  contract.suite.describe("onCommit()", () => {
    const { expect } = contract.suite;

    scenario(contract, "tells of transactions alone, with their writes", async (store) => {
      const told: { readonly seconds: number; readonly writes: number }[] = [];
      store.onCommit((seconds, writes) => told.push({ seconds, writes }));
      await create(store, { taskId: "a" });
      const writes = told.reduce((sum, each) => sum + each.writes, 0);
      expect([0, 1]).toContain(writes);
      for (const { seconds } of told) expect(seconds).toBeGreaterThan(0);
    });
  });
}
