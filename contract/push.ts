import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type {
  PushConfigKey,
  PutPushConfig,
  PutPushOutcome,
  StoredPushConfig,
  TaskHead,
  TaskStore,
} from "../src/store/task-store.js";
import { bytesOf, configOf, create, decodeUtf8, follow, type StoreContract, scenario } from "./setup.js";

/** Push configurations and their delivery positions. */
export function pushContract(contract: StoreContract): void {
  contract.suite.describe("push configurations", () => {
    keeping(contract);
    limiting(contract);
    acrossTenants(contract);
    listing(contract);
  });
}

const config = (text: string, position = 1): StoredPushConfig => ({ bytes: bytesOf(text), position });

const put = (store: TaskStore, taskId: string, configId: string, text: string): Promise<PutPushOutcome> =>
  store.putPushConfig(configOf({ taskId, configId }, text));

function keeping(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "are kept by task and id", async (store) => {
    for (const taskId of ["a", "b"]) {
      await create(store, { taskId });
      for (const configId of ["x", "y"]) {
        expect(await put(store, taskId, configId, `${taskId} ${configId}`)).toBe("put");
      }
    }
    expect(await store.getPushConfig({ taskId: "a", configId: "y" })).toEqual(config("a y"));
    expect(await store.getPushConfig({ taskId: "b", configId: "x" })).toEqual(config("b x"));
    expect(await store.getPushConfig({ taskId: "a", configId: "z" })).toBeUndefined();
    expect(await store.getPushConfig({ taskId: "c", configId: "x" })).toBeUndefined();
  });

  scenario(contract, "are replaced", async (store) => {
    await create(store, { taskId: "a" });
    await put(store, "a", "x", "old");
    await put(store, "a", "x", "new");
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual(config("new"));
    expect(await store.listPushConfigs({ taskId: "a", after: "", limit: 10 })).toHaveLength(1);
  });

  scenario(contract, "are removed, once or twice", async (store) => {
    await create(store, { taskId: "a" });
    await put(store, "a", "x", "x");
    await put(store, "a", "y", "y");
    await store.deletePushConfig({ taskId: "a", configId: "x" });
    await store.deletePushConfig({ taskId: "a", configId: "x" });
    await store.deletePushConfig({ taskId: "unknown", configId: "x" });
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toBeUndefined();
    expect((await store.listPushConfigs({ taskId: "a", after: "", limit: 10 })).map((it) => it.configId)).toEqual([
      "y",
    ]);
    await put(store, "a", "x", "again");
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual(config("again"));
  });

  scenario(contract, "are not kept for a task that is not there", async (store) => {
    expect(await put(store, "a", "x", "early")).toBe("no-task");
    await create(store, { taskId: "a" });
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toBeUndefined();
  });

  scenario(contract, "are copied on their way in and out", async (store) => {
    await create(store, { taskId: "a" });
    const bytes = bytesOf("mine");
    const putting = store.putPushConfig(configOf({ taskId: "a", configId: "x", bytes }));
    bytes.fill(0);
    await putting;
    (await store.getPushConfig({ taskId: "a", configId: "x" }))?.bytes.fill(0);
    for (const { config } of await store.listPushConfigs({ taskId: "a", after: "", limit: 1 })) config.bytes.fill(0);
    expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual(config("mine"));
  });
}

function limiting(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "are at most as many as a task may have, whatever became of it", async (store) => {
    const open = await create(store, { taskId: "open" });
    await create(store, { taskId: "over", state: TaskState.COMPLETED });
    for (const taskId of ["open", "over"]) {
      const few = { taskId, maxPerTask: 2 };
      for (const configId of ["x", "y"]) expect(await store.putPushConfig(configOf({ ...few, configId }))).toBe("put");
      expect(await store.putPushConfig(configOf({ ...few, configId: "z" }))).toBe("too-many-of-task");
      expect(await store.putPushConfig(configOf({ ...few, configId: "x" }, "new"))).toBe("put");
      expect(await store.getPushConfig({ taskId, configId: "z" })).toBeUndefined();
      await store.deletePushConfig({ taskId, configId: "y" });
      expect(await store.putPushConfig(configOf({ ...few, configId: "z" }))).toBe("put");
    }
    expect(await store.putPushConfig(configOf({ taskId: "open", configId: "w", maxPerTask: 0 }))).toBe(
      "too-many-of-task",
    );
    await follow(store, open);
  });

  scenario(contract, "are at most as many as an owner may have, those aside that are over", async (store) => {
    const put = (taskId: string, maxPerOwner = 3): Promise<PutPushOutcome> =>
      store.putPushConfig(configOf({ taskId, configId: "x", maxPerOwner }));
    const heads: TaskHead[] = [];
    for (const taskId of ["a", "b", "c", "d"]) heads.push(await create(store, { taskId }));
    const [a, b, c] = heads as [TaskHead, TaskHead, TaskHead, TaskHead];
    await create(store, { taskId: "theirs", owner: "somebody else" });
    await create(store, { taskId: "there", tenant: "elsewhere" });
    await create(store, { taskId: "over", state: TaskState.FAILED });
    for (const taskId of ["over", "theirs", "there", "a", "b", "c"]) expect(await put(taskId)).toBe("put");
    expect(await put("d")).toBe("too-many-of-owner");
    expect(await put("a", 0)).toBe("put");
    // Both undelivered and dead configurations count.
    for (const head of [a, b, c]) await follow(store, head, { state: TaskState.COMPLETED });
    expect(await put("d")).toBe("too-many-of-owner");
    const claim = { holder: "me", leaseMs: 600_000, now: 10_000, limit: 10 };
    for (const { taskId, configId, claim: number } of await store.claimDeliveries(claim)) {
      const outcome = taskId === "a" ? ({ kind: "done" } as const) : ({ kind: "dead", at: 1, failure: "" } as const);
      const progress = { key: { taskId, configId }, holder: "me", claim: number, position: taskId === "a" ? 2 : 1 };
      expect(await store.completeDelivery({ ...progress, outcome })).toBe("completed");
    }
    expect(await put("d")).toBe("put");
    await store.deletePushConfig({ taskId: "d", configId: "x" });
    expect(await put("d", 2)).toBe("too-many-of-owner");
    await store.deletePushConfig({ taskId: "b", configId: "x" });
    expect(await put("d", 2)).toBe("put");
    expect(await store.removeFinished({ before: 9_999, limit: 10 })).toBe(4);
    expect(await put("there", 0)).toBe("put");
    await create(store, { taskId: "e" });
    expect(await put("e", 2)).toBe("put");
  });
}

/** Limits of an owner across tenants, for servers where a caller can name any tenant. */
function acrossTenants(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "count under all tenants of their owner where that is asked for", async (store) => {
    const put = (taskId: string, more: Partial<PutPushConfig> = {}): Promise<PutPushOutcome> =>
      store.putPushConfig(configOf({ taskId, configId: "x", maxPerOwner: 2, ofAllTenants: true, ...more }));
    const none = await create(store, { taskId: "none", tenant: "" });
    const a = await create(store, { taskId: "a", tenant: "a" });
    for (const tenant of ["b", "c"]) await create(store, { taskId: tenant, tenant });
    await create(store, { taskId: "theirs", tenant: "b", owner: "somebody else" });
    for (const taskId of ["none", "a", "theirs"]) expect(await put(taskId)).toBe("put");
    expect(await put("b")).toBe("too-many-of-owner");
    const pushConfig = configOf({ taskId: "", configId: "x", maxPerOwner: 2, ofAllTenants: true });
    const head = { ...none, taskId: "new", tenant: "new" };
    const created = { head, expected: 0, creates: true, entries: [bytesOf("1")], pushConfig };
    await expect(store.append(created)).rejects.toMatchObject({ tooManyOf: "owner" });
    expect(await put("b", { ofAllTenants: false, maxPerOwner: 1 })).toBe("put");
    // An idle configuration of a finished task does not count.
    await follow(store, a, { state: TaskState.COMPLETED });
    const claim = { holder: "me", leaseMs: 600_000, now: 10_000, limit: 10 };
    const [one] = await store.claimDeliveries(claim);
    const progress = { key: { taskId: "a", configId: "x" }, holder: "me", claim: one?.claim ?? 0, position: 2 };
    expect(await put("c")).toBe("too-many-of-owner");
    expect(await store.completeDelivery({ ...progress, outcome: { kind: "done" } })).toBe("completed");
    expect(await put("c")).toBe("too-many-of-owner");
    await store.deletePushConfig({ taskId: "none", configId: "x" });
    await store.append(created);
    expect(await put("c")).toBe("too-many-of-owner");
    await store.deletePushConfig({ taskId: "b", configId: "x" });
    expect(await put("c")).toBe("put");
  });
}

function listing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "are listed in the order of their ids, page by page", async (store) => {
    const ids = ["", "-", "1", "10", "2", "A", "a", "b", "é", "🚀"];
    await create(store, { taskId: "a" });
    await create(store, { taskId: "b" });
    for (const configId of [...ids].reverse()) {
      await put(store, "a", configId, `<${configId}>`);
    }
    await put(store, "b", "0", "other");
    for (const limit of [1, 3, 100]) {
      const seen: string[] = [];
      let page = await store.listPushConfigs({ taskId: "a", after: "", limit });
      while (page.length > 0) {
        expect(page.length).toBeLessThanOrEqual(limit);
        for (const { configId, config } of page) expect(decodeUtf8(config.bytes)).toBe(`<${configId}>`);
        seen.push(...page.map((it) => it.configId));
        page = await store.listPushConfigs({ taskId: "a", after: seen.at(-1) ?? "", limit });
      }
      // The empty id does not come after itself.
      expect(seen).toEqual(ids.slice(1));
    }
    expect(await store.listPushConfigs({ taskId: "c", after: "", limit: 10 })).toEqual([]);
  });
}

/** Tests reading and rewriting the stored bytes of all push configurations. */
export function pushBytesContract(contract: StoreContract): void {
  contract.suite.describe("scanPushConfigs() and rewritePushConfig()", () => {
    scanning(contract);
    rewriting(contract);
  });
}

/** All configurations, read in pages, as `task/id=bytes`. */
async function all(store: TaskStore, limit: number): Promise<string[]> {
  const seen: string[] = [];
  for (let after: PushConfigKey | undefined; ; ) {
    const page = await store.scanPushConfigs({ limit, ...(after && { after }) });
    seen.push(...page.map(({ taskId, configId, bytes }) => `${taskId}/${configId}=${decodeUtf8(bytes)}`));
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
    // Configurations that changed or were deleted meanwhile are not rewritten.
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
    expect(claimed && decodeUtf8(claimed.bytes)).toBe("old");
    await store.rewritePushConfig({ ...key, from: bytesOf("old"), to: bytesOf("new") });
    const progress = { key, holder: "h", claim: claimed?.claim ?? 0, position: 2 };
    expect(await store.completeDelivery({ ...progress, outcome: { kind: "done" } })).toBe("completed");
    expect(await store.getPushConfig(key)).toEqual({ bytes: bytesOf("new"), position: 2 });
  });
}
