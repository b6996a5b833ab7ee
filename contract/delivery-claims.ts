import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { ClaimDeliveries, ClaimedDelivery, TaskStore } from "../src/store/task-store.js";
import { claim, claimOne, complete, createDue, keysOf, NOW } from "./delivery-setup.js";
import {
  bytesOf,
  configOf,
  create,
  follow,
  forEachOf,
  headOf,
  OWNER,
  type StoreContract,
  scenario,
  sleep,
} from "./setup.js";

/** Claims of deliveries, and dead deliveries. */
export function deliveryClaimsContract(contract: StoreContract): void {
  contract.suite.describe("claimDeliveries()", () => {
    claiming(contract);
    claimingByTarget(contract);
    missing(contract);
  });
  contract.suite.describe("rescheduleDeliveries()", () => rescheduling(contract));
  contract.suite.describe("listDeadDeliveries() and redriveDeliveries()", () => {
    givingUp(contract);
    redriving(contract);
  });
}

function claiming(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "takes what is due the longest first, and at most as many as asked for", async (store) => {
    for (const [taskId, now] of Object.entries({ c: 3_000, a: 1_000, d: 4_000, b: 2_000, later: NOW + 1 })) {
      await createDue(store, taskId, { now });
    }
    expect(keysOf(await store.claimDeliveries({ ...claim, limit: 2 }))).toEqual(["a x", "b x"]);
    expect(keysOf(await store.claimDeliveries({ ...claim, limit: 2 }))).toEqual(["c x", "d x"]);
    expect(keysOf(await store.claimDeliveries({ ...claim, limit: 2 }))).toEqual([]);
    expect(await store.nextDelivery()).toBe(NOW + 1);
  });

  scenario(contract, "never gives two holders the same one", async (store) => {
    const taskIds = Array.from({ length: 30 }, (_, index) => `${index}`);
    for (const taskId of taskIds) {
      const head = await create(store, { taskId });
      for (const configId of ["x", "y"]) await store.putPushConfig(configOf({ taskId, configId }));
      await follow(store, head);
    }
    const holders = Array.from({ length: 12 }, (_, index) => `holder-${index}`);
    const claims = await Promise.all(holders.map((holder) => store.claimDeliveries({ ...claim, holder, limit: 7 })));
    const keys = claims.flatMap(keysOf);
    expect(keys).toHaveLength(60);
    expect(new Set(keys).size).toBe(60);
    expect(new Set(claims.flat().map((one) => one.claim)).size).toBe(60);
    expect(await store.nextDelivery()).toBeUndefined();
  });

  scenario(contract, "gives a holder what it has already when it asks for that", async (store) => {
    for (const taskId of ["a", "b", "c", "d"]) await createDue(store, taskId);
    const before = await store.claimDeliveries({ ...claim, limit: 2 });
    await store.claimDeliveries({ ...claim, holder: "other", limit: 1 });
    const again = await store.claimDeliveries({ ...claim, limit: 1, again: true });
    expect(keysOf(again)).toEqual(keysOf(before));
    for (const one of before) expect(await complete(store, one, { kind: "later", at: NOW })).toBe("lost");
    for (const one of again) expect(await complete(store, one, { kind: "later", at: NOW })).toBe("completed");
    expect(await store.claimDeliveries({ ...claim, again: true })).toHaveLength(3);
  });
}

function claimingByTarget(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(
    contract,
    "takes no more of a target than there is capacity for, and leaves the rest as it is",
    async (store) => {
      for (const [index, target] of ["full", "some", "full", "some", "other", "some", "other"].entries()) {
        await createDue(store, `${index}`, { now: index, target });
      }
      const capacity = (full: number) => ({ of: new Map(Object.entries({ full, some: 2 })), others: 1 });
      expect(keysOf(await store.claimDeliveries({ ...claim, capacity: capacity(0) }))).toEqual(["1 x", "3 x", "4 x"]);
      expect(await store.nextDelivery()).toBe(0);
      expect(keysOf(await store.claimDeliveries({ ...claim, capacity: capacity(1) }))).toEqual(["0 x", "5 x", "6 x"]);
      expect(keysOf(await store.claimDeliveries(claim))).toEqual(["2 x"]);
    },
  );

  scenario(contract, "has targets take turns where more is due than it takes", async (store) => {
    for (let index = 0; index < 40; index++) await createDue(store, `${100 + index}`, { now: index, target: "much" });
    for (const [index, target] of ["a", "z"].entries()) await createDue(store, target, { now: 1_000 + index, target });
    for (const limit of [1, 2, 4]) {
      const targets: string[] = [];
      const keys: string[] = [];
      // Half of each claim goes by age; three targets take turns at the other half. This holds for the smallest limits.
      while (targets.length < 12) {
        const claimed = await store.claimDeliveries({ ...claim, limit });
        expect(claimed).toHaveLength(limit);
        targets.push(...claimed.map(({ target }) => target));
        keys.push(...keysOf(claimed.filter(({ target }) => target === "much")));
        for (const one of claimed) if (one.target !== "much") await complete(store, one, { kind: "later", at: 1_000 });
      }
      expect(new Set(targets)).toEqual(new Set(["much", "a", "z"]));
      expect(keys.length).toBeGreaterThanOrEqual(6);
      expect(keys).toEqual([...keys].sort());
    }
  });

  scenario(contract, "finds what there is capacity for behind any number of what there is none for", async (store) => {
    for (let index = 0; index < 60; index++) await createDue(store, `${100 + index}`, { now: index, target: "full" });
    for (const taskId of ["b", "c", "later"]) {
      await createDue(store, taskId, { now: taskId === "later" ? NOW + 1 : 1_000, target: "free" });
    }
    const capacity = { of: new Map([["full", 0]]), others: 10 };
    expect(keysOf(await store.claimDeliveries({ ...claim, limit: 1, capacity }))).toEqual(["b x"]);
    expect(keysOf(await store.claimDeliveries({ ...claim, limit: 5, capacity }))).toEqual(["c x"]);
    expect(await store.claimDeliveries({ ...claim, limit: 5, capacity })).toEqual([]);
    expect(await store.claimDeliveries({ ...claim, limit: 100 })).toHaveLength(60);
  });
}

function rescheduling(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "makes due what is due too late, and nothing else", async (store) => {
    expect(await store.rescheduleDeliveries({ latest: 0, to: 0 })).toBe(0);
    for (const [taskId, now] of Object.entries({ before: 1_000, last: 5_000, late: 5_001, later: 9_000_000 })) {
      await createDue(store, taskId, { now });
    }
    await create(store, { taskId: "idle" });
    await store.putPushConfig(configOf({ taskId: "idle", configId: "x", now: 9_000 }));
    await createDue(store, "dead", { now: 500 });
    const dead = await claimOne(store, { limit: 1 });
    expect(await complete(store, dead, { kind: "dead", at: 7_000, failure: "" })).toBe("completed");
    expect(await store.rescheduleDeliveries({ latest: 5_000, to: 2_000 })).toBe(2);
    expect(await store.rescheduleDeliveries({ latest: 5_000, to: 2_000 })).toBe(0);
    expect(await store.listDeadDeliveries({ limit: 10 })).toMatchObject([{ taskId: "dead", at: 7_000 }]);
    const claimed = await store.claimDeliveries({ ...claim, now: 2_000 });
    expect(new Set(keysOf(claimed))).toEqual(new Set(["before x", "late x", "later x"]));
    expect(await store.nextDelivery()).toBe(5_000);
  });

  scenario(
    contract,
    "keeps failures and holders: what is held is due then when its holder is given up",
    async (store) => {
      await createDue(store, "a", { now: 8_000 });
      const first = await claimOne(store);
      const failed = { kind: "retry", at: 9_000, failure: "no", failingSince: 8_500 } as const;
      expect(await complete(store, first, failed)).toBe("completed");
      const second = await claimOne(store);
      expect(await store.rescheduleDeliveries({ latest: 6_000, to: 5_000 })).toBe(1);
      expect(await store.claimDeliveries({ ...claim, holder: "other" })).toEqual([]);
      const again = await claimOne(store, { again: true, limit: 1 });
      expect(again).toMatchObject({ attempts: 1, failingSince: 8_500, bytes: second.bytes });
      if (!store.shared) return;
      const claimed = await claimInTime(store, { holder: "other", now: 5_000 });
      expect(claimed).toMatchObject([{ taskId: "a", attempts: 1, failingSince: 8_500 }]);
    },
  );

  scenario(contract, "takes any number", async (store) => {
    const taskIds = Array.from({ length: 2_500 }, (_, index) => `${index}`);
    const put = async (taskId: string): Promise<void> => {
      const head = headOf({ taskId });
      const pushConfig = configOf({ taskId, configId: "x", maxPerOwner: 10_000 });
      await store.append({ head, expected: 0, creates: true, entries: [bytesOf("1")], pushConfig, time: 9_000_000 });
    };
    await forEachOf(taskIds, put);
    expect(await store.rescheduleDeliveries({ latest: 5_000, to: 2_000 })).toBe(2_500);
    expect(await store.claimDeliveries({ ...claim, now: 2_000, limit: 3_000 })).toHaveLength(2_500);
  });
}

/** Long enough to poll in time on a busy machine, and short enough to wait for. */
const shortMs = 300;

async function claimInTime(store: TaskStore, request: Partial<ClaimDeliveries> = {}): Promise<ClaimedDelivery[]> {
  for (;;) {
    const claimed = await store.claimDeliveries({ ...claim, leaseMs: shortMs, ...request });
    if (claimed.length > 0) return claimed;
    await sleep(shortMs / 6);
  }
}

/** Deliveries of a holder that misses its heartbeats. */
function missing(contract: StoreContract): void {
  const { expect } = contract.suite;
  const heartbeat = { holder: "gone", leaseMs: shortMs, again: false, maxStallMs: 0 };

  scenario(
    contract,
    "takes over what a silent holder has, where the store is shared, and never else",
    async (store) => {
      await createDue(store, "a");
      await store.heartbeat(heartbeat);
      const lost = await claimOne(store, { holder: "gone" });
      if (!store.shared) {
        await sleep(2 * shortMs);
        for (let round = 0; round < 3; round++) {
          expect(await store.claimDeliveries({ ...claim, leaseMs: shortMs })).toEqual([]);
        }
        return;
      }
      expect(keysOf(await claimInTime(store))).toEqual(["a x"]);
      expect(await complete(store, lost, { kind: "done" }, { holder: "gone", position: 2 })).toBe("lost");
      expect(await store.heartbeat({ ...heartbeat, again: true })).toBe(false);
    },
  );

  scenario(contract, "leaves what a holder has that says that it lives", async (store) => {
    await createDue(store, "a");
    const held = await claimOne(store, { holder: "gone" });
    for (let round = 0; round < 12; round++) {
      expect(await store.heartbeat({ ...heartbeat, again: round > 0 })).toBe(true);
      expect(await store.claimDeliveries({ ...claim, leaseMs: shortMs })).toEqual([]);
      await sleep(shortMs / 6);
    }
    expect(await complete(store, held, { kind: "later", at: NOW }, { holder: "gone" })).toBe("completed");
  });

  scenario(contract, "gives up a holder for its leases and its deliveries alike", async (store) => {
    if (!store.shared) return;
    await createDue(store, "a");
    await create(store, { taskId: "b", lease: { holder: "gone", turn: 1, attempt: 1 } });
    await store.heartbeat(heartbeat);
    await claimOne(store, { holder: "gone" });
    await claimInTime(store);
    expect(await store.claimLeases({ holder: "me", leaseMs: shortMs, limit: 10 })).toHaveLength(1);
  });
}

/** Gives up every due delivery. */
async function giveUp(store: TaskStore, at = 9_000): Promise<void> {
  for (const one of await store.claimDeliveries(claim)) {
    await complete(store, one, { kind: "retry", at: 1, failure: "refused", failingSince: 8_000 });
  }
  for (const one of await store.claimDeliveries(claim)) {
    await complete(store, one, { kind: "dead", at, failure: "too old" });
  }
}

function givingUp(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "tell what was given up, and why", async (store) => {
    await createDue(store, "a");
    await giveUp(store);
    expect(await store.nextDelivery()).toBeUndefined();
    const dead = {
      ...{ taskId: "a", configId: "x", ...OWNER, target: "target", bytes: bytesOf("config") },
      ...{ position: 1, headPosition: 2, failure: "too old", failingSince: 8_000, at: 9_000 },
    };
    expect(await store.listDeadDeliveries({ limit: 10 })).toEqual([dead]);
    // A dead delivery stays dead after a new entry.
    await follow(store, headOf({ taskId: "a", position: 2, generation: 2 }));
    expect(await store.nextDelivery()).toBeUndefined();
    expect(await store.listDeadDeliveries({ limit: 10 })).toEqual([{ ...dead, headPosition: 3 }]);
  });

  scenario(contract, "tell it page by page, and of one tenant or owner alone when asked to", async (store) => {
    const places = [
      { tenant: "t", owner: "o" },
      { tenant: "t", owner: "other" },
      { tenant: "other", owner: "o" },
    ];
    const keys: string[] = [];
    for (const [index, place] of places.entries()) {
      for (const taskId of [`${index}a`, `${index}b`]) {
        const head = await create(store, { taskId, ...place });
        for (const configId of ["x", "y"]) {
          await store.putPushConfig(configOf({ taskId, configId }));
          keys.push(`${taskId} ${configId}`);
        }
        await follow(store, head);
      }
    }
    await giveUp(store);
    const list = async (filter: { tenant?: string; owner?: string }, limit: number): Promise<string[]> => {
      const found: string[] = [];
      for (let after: { taskId: string; configId: string } | undefined; ; ) {
        const page = await store.listDeadDeliveries({ ...filter, limit, ...(after && { after }) });
        expect(page.length).toBeLessThanOrEqual(limit);
        found.push(...keysOf(page));
        after = page.at(-1);
        if (after === undefined) return found;
      }
    };
    for (const limit of [1, 5, 100]) {
      expect(await list({}, limit)).toEqual(keys);
      expect(await list({ tenant: "t" }, limit)).toEqual(keys.slice(0, 8));
      expect(await list({ owner: "o" }, limit)).toEqual([...keys.slice(0, 4), ...keys.slice(8)]);
      expect(await list({ tenant: "t", owner: "other" }, limit)).toEqual(keys.slice(4, 8));
      expect(await list({ tenant: "nobody" }, limit)).toEqual([]);
    }
  });
}

function redriving(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "make it due again, all of it or what is named", async (store) => {
    for (const taskId of ["a", "b", "c", "alive"]) await createDue(store, taskId);
    for (const one of await store.claimDeliveries(claim)) {
      if (one.taskId !== "alive") await complete(store, one, { kind: "dead", at: 1, failure: "" });
    }
    const keys = ["b", "alive", "unknown"].map((taskId) => ({ taskId, configId: "x" }));
    expect(await store.redriveDeliveries({ now: 4_000, keys })).toBe(1);
    expect(await store.nextDelivery()).toBe(4_000);
    expect(await claimOne(store)).toMatchObject({ taskId: "b", position: 1, attempts: 0, failingSince: undefined });
    expect(await store.redriveDeliveries({ now: 5_000 })).toBe(2);
    expect(await store.redriveDeliveries({ now: 5_000 })).toBe(0);
    expect(await store.listDeadDeliveries({ limit: 10 })).toEqual([]);
    expect(keysOf(await store.claimDeliveries(claim)).sort()).toEqual(["a x", "c x"]);
  });

  scenario(contract, "bring the next attempt of a named one to now, with its failures", async (store) => {
    for (const taskId of ["a", "b", "held"]) await createDue(store, taskId);
    for (const one of await store.claimDeliveries(claim)) {
      const retry = { kind: "retry", at: NOW + 9_000, failure: "refused", failingSince: 1 } as const;
      if (one.taskId !== "held") await complete(store, one, retry);
    }
    const keys = ["a", "held"].map((taskId) => ({ taskId, configId: "x" }));
    expect(await store.redriveDeliveries({ now: NOW })).toBe(0);
    expect(await store.redriveDeliveries({ now: NOW, keys })).toBe(1);
    expect(await store.redriveDeliveries({ now: NOW, keys })).toBe(0);
    expect(await store.nextDelivery()).toBe(NOW);
    expect(await claimOne(store)).toMatchObject({ taskId: "a", position: 1, attempts: 1, failingSince: 1 });
    expect(await store.nextDelivery()).toBe(NOW + 9_000);
  });

  scenario(contract, "keep a task that is over again, once it has something to deliver", async (store) => {
    const head = await create(store, { taskId: "a" });
    await store.putPushConfig(configOf({ taskId: "a", configId: "x" }));
    await follow(store, head, { state: TaskState.COMPLETED });
    await giveUp(store);
    await store.redriveDeliveries({ now: NOW });
    expect(await store.removeFinished({ before: 9_999, limit: 10 })).toBe(0);
    await complete(store, await claimOne(store), { kind: "dead", at: 1, failure: "" });
    // Replacing a dead configuration makes it due.
    await store.putPushConfig(configOf({ taskId: "a", configId: "x" }, "new"));
    expect(await store.listDeadDeliveries({ limit: 10 })).toEqual([]);
    expect(await store.removeFinished({ before: 9_999, limit: 10 })).toBe(0);
    await complete(store, await claimOne(store), { kind: "done" }, { position: 2 });
    expect(await store.removeFinished({ before: 9_999, limit: 10 })).toBe(1);
  });
}
