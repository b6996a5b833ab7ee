import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { countTo, create, follow, leaseOf, readAll, type StoreContract, scenario } from "./setup.js";

/** `claimLeases`, `renewLeases`, `setLease`. */
export function leaseContract(contract: StoreContract): void {
  contract.suite.describe("claimLeases()", () => claiming(contract));
  contract.suite.describe("renewLeases()", () => renewing(contract));
  contract.suite.describe("setLease()", () => setting(contract));
}

function claiming(contract: StoreContract): void {
  const { expect } = contract.suite;
  const claim = { holder: "new", now: 5_000, until: 9_000, limit: 100 };

  scenario(contract, "takes over what ran out at or before now, and nothing else", async (store) => {
    await create(store, { taskId: "past", lease: leaseOf({ until: 4_999 }) });
    await create(store, { taskId: "now", lease: leaseOf({ until: 5_000 }) });
    await create(store, { taskId: "future", lease: leaseOf({ until: 5_001 }) });
    await create(store, { taskId: "free" });
    const claimed = await store.claimLeases(claim);
    expect(new Set(claimed.map((head) => head.taskId))).toEqual(new Set(["past", "now"]));
    expect((await store.head({ taskId: "future" }))?.lease).toEqual(leaseOf({ until: 5_001 }));
    expect((await store.head({ taskId: "free" }))?.lease).toBeNull();
  });

  scenario(contract, "gives the head with the new lease, the attempt counted, the turn kept", async (store) => {
    const head = await create(store, { taskId: "a", lease: leaseOf({ until: 1, turn: 1, attempt: 4 }) }, 3);
    const taken = { ...head, lease: { holder: "new", until: 9_000, turn: 1, attempt: 5 } };
    expect(await store.claimLeases(claim)).toEqual([taken]);
    expect(await store.head({ taskId: "a" })).toEqual(taken);
    expect(await store.claimLeases({ ...claim, now: 9_000, until: 12_000 })).toEqual([
      { ...head, lease: { holder: "new", until: 12_000, turn: 1, attempt: 6 } },
    ]);
  });

  scenario(contract, "claims nothing twice before it runs out again", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf({ until: 1 }) });
    expect(await store.claimLeases(claim)).toHaveLength(1);
    expect(await store.claimLeases({ ...claim, holder: "late" })).toEqual([]);
    expect(await store.claimLeases({ ...claim, holder: "late", now: 8_999 })).toEqual([]);
  });

  scenario(contract, "takes at most as many as asked for and leaves the others for later", async (store) => {
    for (let index = 0; index < 10; index++)
      await create(store, { taskId: `${index}`, lease: leaseOf({ until: index }) });
    const first = await store.claimLeases({ ...claim, limit: 4 });
    const second = await store.claimLeases({ ...claim, limit: 100 });
    expect(first).toHaveLength(4);
    expect(second).toHaveLength(6);
    expect(new Set([...first, ...second].map((head) => head.taskId)).size).toBe(10);
  });

  scenario(contract, "never gives two holders the same one", async (store) => {
    for (let index = 0; index < 60; index++) await create(store, { taskId: `${index}`, lease: leaseOf({ until: 1 }) });
    const holders = Array.from({ length: 12 }, (_, index) => `holder-${index}`);
    const claims = await Promise.all(holders.map((holder) => store.claimLeases({ ...claim, holder, limit: 7 })));
    const ids = claims.flat().map((head) => head.taskId);
    expect(ids).toHaveLength(60);
    expect(new Set(ids).size).toBe(60);
    for (const [index, claimed] of claims.entries()) {
      for (const { taskId, lease } of claimed) {
        expect(lease?.holder).toBe(holders[index]);
        expect((await store.head({ taskId }))?.lease).toEqual(lease);
      }
    }
  });

  scenario(contract, "forgets a lease that an append ended or moved", async (store) => {
    const ended = await create(store, { taskId: "ended", lease: leaseOf({ until: 1 }) });
    const moved = await create(store, { taskId: "moved", lease: leaseOf({ until: 1 }) });
    await follow(store, ended, { lease: null, state: TaskState.COMPLETED });
    await follow(store, moved, { lease: leaseOf({ until: 7_000 }) });
    expect(await store.claimLeases(claim)).toEqual([]);
  });

  scenario(contract, "leaves the log and its order alone", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf({ until: 1 }) }, 3);
    const [head] = await store.claimLeases(claim);
    expect(await readAll(store, "a")).toEqual(countTo(3));
    if (head !== undefined) await follow(store, head);
    expect(await readAll(store, "a")).toEqual(countTo(4));
  });
}

function renewing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "extends what the holder has and says what that is", async (store) => {
    await create(store, { taskId: "mine", lease: leaseOf({ turn: 3, attempt: 2 }) });
    await create(store, { taskId: "theirs", lease: leaseOf({ holder: "other" }) });
    await create(store, { taskId: "free" });
    const taskIds = ["theirs", "mine", "free", "unknown"];
    expect(await store.renewLeases({ holder: "holder", taskIds, until: 8_000 })).toEqual(["mine"]);
    expect((await store.head({ taskId: "mine" }))?.lease).toEqual(leaseOf({ until: 8_000, turn: 3, attempt: 2 }));
    expect((await store.head({ taskId: "theirs" }))?.lease).toEqual(leaseOf({ holder: "other" }));
    expect((await store.head({ taskId: "free" }))?.lease).toBeNull();
  });

  scenario(contract, "extends a lease that ran out and that nobody claimed", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf({ until: 1 }) });
    expect(await store.renewLeases({ holder: "holder", taskIds: ["a"], until: 8_000 })).toEqual(["a"]);
    expect(await store.claimLeases({ holder: "new", now: 7_999, until: 9_000, limit: 10 })).toEqual([]);
  });

  scenario(contract, "does not give back what somebody else claimed", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf({ until: 1 }) });
    await store.claimLeases({ holder: "new", now: 5_000, until: 9_000, limit: 10 });
    expect(await store.renewLeases({ holder: "holder", taskIds: ["a"], until: 20_000 })).toEqual([]);
    expect((await store.head({ taskId: "a" }))?.lease).toMatchObject({ holder: "new", until: 9_000 });
  });

  scenario(contract, "renews nothing and thousands", async (store) => {
    expect(await store.renewLeases({ holder: "holder", taskIds: [], until: 1 })).toEqual([]);
    const taskIds = Array.from({ length: 2_000 }, (_, index) => `task-${index}`);
    await Promise.all(taskIds.map((taskId) => create(store, { taskId, lease: leaseOf() })));
    expect(new Set(await store.renewLeases({ holder: "holder", taskIds, until: 8_000 }))).toEqual(new Set(taskIds));
  });
}

function setting(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "ends a lease", async (store) => {
    const head = await create(store, { taskId: "a", lease: leaseOf() });
    await store.setLease({ taskId: "a", holder: "holder", lease: null });
    expect(await store.head({ taskId: "a" })).toEqual({ ...head, lease: null });
    expect(await store.claimLeases({ holder: "new", now: 99_999, until: 100_000, limit: 10 })).toEqual([]);
  });

  scenario(contract, "moves a lease to the next turn, or to another holder", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf() }, 4);
    const next = leaseOf({ until: 6_000, turn: 4, attempt: 1 });
    await store.setLease({ taskId: "a", holder: "holder", lease: next });
    expect((await store.head({ taskId: "a" }))?.lease).toEqual(next);
    const given = leaseOf({ holder: "other", until: 0, turn: 4, attempt: 1 });
    await store.setLease({ taskId: "a", holder: "holder", lease: given });
    expect((await store.head({ taskId: "a" }))?.lease).toEqual(given);
  });

  scenario(contract, "puts a lease up for a claim", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf() });
    await store.setLease({ taskId: "a", holder: "holder", lease: leaseOf({ until: 0, attempt: 3 }) });
    const [claimed] = await store.claimLeases({ holder: "new", now: 1, until: 9_000, limit: 10 });
    expect(claimed?.lease).toEqual({ holder: "new", until: 9_000, turn: 1, attempt: 4 });
  });

  scenario(contract, "has no effect on what somebody else has, or nobody", async (store) => {
    const theirs = await create(store, { taskId: "theirs", lease: leaseOf({ holder: "other" }) });
    const free = await create(store, { taskId: "free" });
    for (const lease of [null, leaseOf({ until: 9_000 })]) {
      for (const taskId of ["theirs", "free", "unknown"]) await store.setLease({ taskId, holder: "holder", lease });
    }
    expect(await store.head({ taskId: "theirs" })).toEqual(theirs);
    expect(await store.head({ taskId: "free" })).toEqual(free);
    expect(await store.head({ taskId: "unknown" })).toBeUndefined();
  });
}
