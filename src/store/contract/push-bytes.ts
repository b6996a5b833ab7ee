import type { PushConfigKey, TaskStore } from "../task-store.js";
import { bytesOf, configOf, create, follow, type StoreContract, scenario, textOf } from "./setup.js";

/** What is stored of push configurations, to be looked at as a whole and stored in another way. */
export function pushBytesContract(contract: StoreContract): void {
  contract.suite.describe("scanPushConfigs() and rewritePushConfig()", () => {
    scanning(contract);
    rewriting(contract);
  });
}

/** All of them, page by page, as `task/id=bytes`. */
async function all(store: TaskStore, limit: number): Promise<string[]> {
  const seen: string[] = [];
  for (let after: PushConfigKey | undefined; ; ) {
    const page = await store.scanPushConfigs({ limit, ...(after && { after }) });
    seen.push(...page.map(({ taskId, configId, bytes }) => `${taskId}/${configId}=${textOf(bytes)}`));
    after = page.at(-1);
    if (after === undefined) return seen;
  }
}

function scanning(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "show those of all owners, in order, page by page", async (store) => {
    await create(store, { taskId: "b", owner: "bob" });
    await create(store, { taskId: "a", tenant: "north" });
    await create(store, { taskId: "none" });
    for (const taskId of ["b", "a"]) {
      for (const configId of ["z", "10", "é", "2"]) {
        await store.putPushConfig(configOf({ taskId, configId }, configId));
      }
    }
    const ids = ["10", "2", "z", "é"];
    const expected = ["a", "b"].flatMap((taskId) => ids.map((id) => `${taskId}/${id}=${id}`));
    for (const limit of [1, 3, 4, 100]) expect(await all(store, limit)).toEqual(expected);
    await store.deletePushConfig({ taskId: "a", configId: "10" });
    expect(await all(store, 2)).toEqual(expected.slice(1));
  });
}

function rewriting(contract: StoreContract): void {
  const { expect } = contract.suite;
  const key = { taskId: "a", configId: "x" };

  scenario(contract, "replace the bytes that are known, and nothing else", async (store) => {
    const head = await create(store, key);
    await store.putPushConfig(configOf(key, "old"));
    await store.putPushConfig(configOf({ ...key, configId: "y" }, "old"));
    const [from, to] = [bytesOf("old"), bytesOf("new")];
    expect(await store.rewritePushConfig({ ...key, from, to })).toBe(true);
    to.fill(0);
    expect(await all(store, 10)).toEqual(["a/x=new", "a/y=old"]);
    // What was changed meanwhile stays, and so does what is gone.
    expect(await store.rewritePushConfig({ ...key, from, to: from })).toBe(false);
    expect(await store.rewritePushConfig({ ...key, from: bytesOf("new "), to: from })).toBe(false);
    expect(await store.rewritePushConfig({ ...key, configId: "z", from, to: from })).toBe(false);
    expect(await store.rewritePushConfig({ ...key, taskId: "b", from, to: from })).toBe(false);
    expect(await store.getPushConfig(key)).toEqual({ bytes: bytesOf("new"), position: 1 });
    await follow(store, head);
    expect(await all(store, 10)).toEqual(["a/x=new", "a/y=old"]);
  });

  scenario(contract, "leave a delivery to who has it", async (store) => {
    const head = await create(store, key);
    await store.putPushConfig(configOf(key, "old"));
    await follow(store, head);
    const request = { holder: "h", leaseMs: 60_000, now: Number.MAX_SAFE_INTEGER, limit: 1 };
    const [claimed] = await store.claimDeliveries(request);
    expect(claimed && textOf(claimed.bytes)).toBe("old");
    await store.rewritePushConfig({ ...key, from: bytesOf("old"), to: bytesOf("new") });
    const progress = { key, holder: "h", claim: claimed?.claim ?? 0, position: 2 };
    expect(await store.settleDelivery({ ...progress, outcome: { kind: "done" } })).toBe("settled");
    expect(await store.getPushConfig(key)).toEqual({ bytes: bytesOf("new"), position: 2 });
  });
}
