import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { NO_HOLDER, type TaskStore } from "../src/store/task-store.js";
import {
  bytesOf,
  configOf,
  countTo,
  create,
  follow,
  followRequest,
  headOf,
  leaseOf,
  listAll,
  numbered,
  OWNER,
  readAll,
  type StoreContract,
  scenario,
} from "./setup.js";

/** `close`, and the contents of a durable store after it is reopened. */
export function closeContract(contract: StoreContract): void {
  contract.suite.describe("close()", () => closing(contract));
  if (contract.durable !== undefined) {
    const { reopen } = contract.durable;
    contract.suite.describe("reopened", () => {
      const reopening = { contract, reopen };
      reopeningTasks(reopening);
      reopeningLeases(reopening);
      reopeningDeliveries(reopening);
    });
  }
}

function closing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "refuses every later call", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf() });
    await store.close();
    const key = { taskId: "a", configId: "x" };
    const progress = { key, holder: "h", claim: 1, position: 1 };
    const calls: (() => Promise<unknown>)[] = [
      () => store.append({ head: headOf({ taskId: "b" }), expected: 0, creates: true, entries: numbered(0, 1) }),
      () => store.head({ taskId: "a" }),
      () => store.load({ taskId: "a" }),
      () => store.read({ taskId: "a", after: 0, limit: 1 }),
      () => store.saveSnapshot({ taskId: "a", snapshot: { position: 1, bytes: bytesOf("s") } }),
      () => store.list({ ...OWNER, limit: 1 }),
      () => store.conversation({ ...OWNER, contextId: "context" }),
      () => store.findSend({ ...OWNER, key: "key" }),
      () => store.claimLeases({ holder: "h", leaseMs: 1, limit: 1 }),
      () => store.leasesOf({ holder: "h", after: "", limit: 1 }),
      () => store.setLease({ taskId: "a", fence: leaseOf(), lease: null }),
      () => store.putPushConfig(configOf(key)),
      () => store.getPushConfig(key),
      () => store.listPushConfigs({ taskId: "a", after: "", limit: 1 }),
      () => store.deletePushConfig(key),
      () => store.claimDeliveries({ holder: "h", leaseMs: 1, now: 1, limit: 1 }),
      () => store.nextDelivery(),
      () => store.savePushPosition(progress),
      () => store.completeDelivery({ ...progress, outcome: { kind: "done" } }),
      () => store.listDeadDeliveries({ limit: 1 }),
      () => store.redriveDeliveries({ now: 1 }),
      () => store.redriveDeliveries({ now: 1, keys: [key] }),
      () => store.scanPushConfigs({ limit: 1 }),
      () => store.rewritePushConfig({ ...key, from: bytesOf("a"), to: bytesOf("b") }),
      () => store.removeFinished({ before: 1, limit: 1 }),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ name: "StoreError", kind: "closed" });
  });

  scenario(contract, "may be called again", async (store) => {
    await Promise.all([store.close(), store.close()]);
    await store.close();
  });

  scenario(contract, "waits for what was appended", async (store) => {
    const sent = Array.from({ length: 100 }, (_, index) => create(store, { taskId: `task-${index}` }));
    const closed = store.close();
    const settled = await Promise.allSettled(sent);
    await closed;
    expect(settled.filter((outcome) => outcome.status === "rejected")).toEqual([]);
  });
}

/** A store that was closed, opened again. */
interface Reopening {
  readonly contract: StoreContract;
  readonly reopen: (closed: TaskStore) => Promise<TaskStore> | TaskStore;
}

/** A test that closes a store and reopens it. */
function twoLives<T>(
  { contract, reopen }: Reopening,
  name: string,
  before: (store: TaskStore) => Promise<T>,
  after: (store: TaskStore, known: T) => Promise<void>,
): void {
  scenario(contract, name, async (store) => {
    const known = await before(store);
    await store.close();
    const second = await reopen(store);
    try {
      await after(second, known);
    } finally {
      await second.close();
    }
  });
}

function reopeningTasks(reopening: Reopening): void {
  const { expect } = reopening.contract.suite;

  twoLives(
    reopening,
    "has the tasks, their logs and snapshots, and goes on with them",
    async (store) => {
      const head = await follow(store, await create(store, { taskId: "a" }, 3), {}, 2);
      await store.saveSnapshot({ taskId: "a", snapshot: { position: 4, bytes: bytesOf("fold") } });
      const conversation = { expected: 0, version: 3, bytes: bytesOf("state") };
      const b = { head: headOf({ taskId: "b", state: TaskState.COMPLETED }), expected: 0, creates: true };
      await store.append({ ...b, entries: numbered(0, 1), conversation });
      return { head, loaded: await store.load({ taskId: "a" }) };
    },
    async (store, { head, loaded }) => {
      expect(await store.load({ taskId: "a" })).toEqual(loaded);
      expect(await readAll(store, "a")).toEqual(countTo(5));
      const state = await store.conversation({ ...OWNER, contextId: "context" });
      expect(state).toEqual({ version: 3, bytes: bytesOf("state") });
      await follow(store, head);
      await expect(follow(store, head)).rejects.toMatchObject({ kind: "conflict" });
      await expect(follow(store, headOf({ taskId: "b" }))).rejects.toMatchObject({ kind: "finished" });
    },
  );

  twoLives(
    reopening,
    "has its lists and totals",
    async (store) => {
      for (let index = 0; index < 20; index++) await create(store, { taskId: `${index}`, state: 2 + (index % 2) });
      return listAll(store, { ...OWNER, limit: 7 });
    },
    async (store, ids) => {
      expect(await listAll(store, { ...OWNER, limit: 6 })).toEqual(ids);
      expect((await store.list({ ...OWNER, limit: 1 })).total).toBe(20);
      expect((await store.list({ ...OWNER, state: 3, limit: 1 })).total).toBe(10);
    },
  );

  twoLives(
    reopening,
    "has what was appended right before it was closed",
    async (store) => {
      const sent = Array.from({ length: 50 }, (_, index) => create(store, { taskId: `task-${index}` }));
      await store.close();
      await Promise.all(sent);
    },
    async (store) => {
      expect((await store.list({ ...OWNER, limit: 1 })).total).toBe(50);
    },
  );
}

function reopeningLeases(reopening: Reopening): void {
  const { expect } = reopening.contract.suite;

  twoLives(
    reopening,
    "has remembered sends, push configurations with their positions, and leases",
    async (store) => {
      const send = { ...OWNER, key: "key", fingerprint: "f", taskId: "a", position: 1 };
      const lease = leaseOf({ holder: NO_HOLDER });
      const head = headOf({ taskId: "a" });
      await store.append({ head, expected: 0, creates: true, entries: numbered(0, 1), send, lease });
      await store.putPushConfig(configOf({ taskId: "a", configId: "x" }, "c"));
    },
    async (store) => {
      expect(await store.findSend({ ...OWNER, key: "key" })).toEqual({ fingerprint: "f", taskId: "a", position: 1 });
      expect(await store.getPushConfig({ taskId: "a", configId: "x" })).toEqual({ bytes: bytesOf("c"), position: 1 });
      const [claimed] = await store.claimLeases({ holder: "next life", leaseMs: 60_000, limit: 10 });
      expect(claimed?.lease).toEqual({ holder: "next life", turn: 1, attempt: 2 });
    },
  );

  twoLives(
    reopening,
    "gives the leases of its last life to the next one at once, unless others may still have it open",
    async (store) => {
      const lease = leaseOf({ turn: 2, attempt: 2 });
      await create(store, { taskId: "running", lease }, 3);
      await create(store, { taskId: "at rest" });
    },
    async (store) => {
      const claimed = await store.claimLeases({ holder: "next life", leaseMs: 60_000, limit: 10 });
      const lease = { holder: "next life", turn: 2, attempt: 3 };
      const all = [headOf({ taskId: "running", position: 3, generation: 3, lease })];
      expect(claimed).toEqual(store.shared ? [] : all);
    },
  );
}

function reopeningDeliveries(reopening: Reopening): void {
  const { expect } = reopening.contract.suite;

  twoLives(
    reopening,
    "has what is due, what was given up and what counts, and nothing held, unless others may still have it open",
    async (store) => {
      const claim = { holder: "last life", leaseMs: 60_000, now: 10_000, limit: 1 };
      for (const taskId of ["dead", "held", "due", "idle"]) {
        const head = await create(store, { taskId });
        await store.putPushConfig(configOf({ taskId, configId: "x", now: 1_000 }));
        if (taskId === "idle") continue;
        await store.append({ ...followRequest(head), time: 5_000 });
        if (taskId === "due") continue;
        const [one] = await store.claimDeliveries(claim);
        if (one === undefined || taskId === "held") continue;
        const progress = { key: { taskId, configId: "x" }, holder: "last life", claim: one.claim, position: 1 };
        await store.completeDelivery({ ...progress, outcome: { kind: "dead", at: 6_000, failure: "gone" } });
      }
    },
    async (store) => {
      const claim = { holder: "next life", leaseMs: 60_000, now: 10_000, limit: 10 };
      expect(await store.listDeadDeliveries({ limit: 10 })).toMatchObject([{ taskId: "dead", failure: "gone" }]);
      const claimed = await store.claimDeliveries(claim);
      const found = claimed.map(({ taskId, position }) => `${taskId} ${position}`);
      expect(found.sort()).toEqual(store.shared ? ["due 1"] : ["due 1", "held 1"]);
      const request = configOf({ taskId: "idle", configId: "y", maxPerOwner: 4 });
      expect(await store.putPushConfig(request)).toBe("too-many-of-owner");
      expect(await store.append(followRequest(headOf({ taskId: "idle" })))).toEqual({ pushed: true });
    },
  );
}
