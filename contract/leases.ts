import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { NO_HOLDER, type TaskStore } from "../src/store/task-store.js";
import { countTo, create, follow, leaseOf, readAll, type StoreContract, scenario, sleep } from "./setup.js";

/** `heartbeat`, `claimLeases`, `leasesOf`, `setLease`. */
export function leaseContract(contract: StoreContract): void {
  contract.suite.describe("claimLeases()", () => {
    claiming(contract);
    claimingAtOnce(contract);
    missing(contract);
    afterEnd(contract);
  });
  contract.suite.describe("heartbeat()", () => heartbeats(contract));
  contract.suite.describe("leasesOf()", () => telling(contract));
  contract.suite.describe("setLease()", () => setting(contract));
}

/** The lease outlasts every test. */
const claim = { holder: "new", leaseMs: 600_000, limit: 100 };

/** Long enough to poll in time on a busy machine, and short enough to wait for. */
const shortMs = 300;

const released = leaseOf({ holder: NO_HOLDER });

/** Polls for leases until it gets some, as an engine does. */
async function claimInTime(store: TaskStore, request = { ...claim, leaseMs: shortMs }): Promise<string[]> {
  for (;;) {
    const claimed = await store.claimLeases(request);
    if (claimed.length > 0) return claimed.map(({ taskId }) => taskId).sort();
    await sleep(request.leaseMs / 6);
  }
}

function claiming(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "takes over what is up for a claim, and nothing else", async (store) => {
    await create(store, { taskId: "released", lease: released });
    await create(store, { taskId: "too", lease: released });
    await create(store, { taskId: "held", lease: leaseOf() });
    await create(store, { taskId: "free" });
    const claimed = await store.claimLeases(claim);
    expect(new Set(claimed.map((head) => head.taskId))).toEqual(new Set(["released", "too"]));
    expect((await store.head({ taskId: "held" }))?.lease).toEqual(leaseOf());
    expect((await store.head({ taskId: "free" }))?.lease).toBeNull();
  });

  scenario(contract, "gives the head with the new lease, the attempt counted, the turn kept", async (store) => {
    const lease = leaseOf({ holder: NO_HOLDER, turn: 1, attempt: 4 });
    const head = await create(store, { taskId: "a", lease }, 3);
    const taken = { ...head, lease: { holder: "new", turn: 1, attempt: 5 } };
    expect(await store.claimLeases(claim)).toEqual([taken]);
    expect(await store.head({ taskId: "a" })).toEqual(taken);
  });

  scenario(contract, "counts from below zero, too, and relies on an attempt of zero", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf({ holder: NO_HOLDER, turn: 1, attempt: -1 }) }, 3);
    const taken = { holder: "new", turn: 1, attempt: 0 };
    expect((await store.claimLeases(claim)).map(({ lease }) => lease)).toEqual([taken]);
    const next = { ...taken, attempt: 1 };
    expect(await store.setLease({ taskId: "a", fence: taken, lease: next })).toBe("set");
    expect((await store.head({ taskId: "a" }))?.lease).toEqual(next);
    const back = { holder: NO_HOLDER, turn: 1, attempt: -1 };
    expect(await store.setLease({ taskId: "a", fence: next, lease: back })).toBe("set");
    expect((await store.head({ taskId: "a" }))?.lease).toEqual(back);
  });

  scenario(contract, "forgets a lease that ended with its task", async (store) => {
    const head = await create(store, { taskId: "ended", lease: released });
    await follow(store, head, { state: TaskState.COMPLETED });
    expect((await store.head({ taskId: "ended" }))?.lease).toBeNull();
    expect(await store.claimLeases(claim)).toEqual([]);
  });

  scenario(contract, "leaves the log and its order alone", async (store) => {
    await create(store, { taskId: "a", lease: released }, 3);
    const [head] = await store.claimLeases(claim);
    expect(await readAll(store, "a")).toEqual(countTo(3));
    if (head !== undefined) await follow(store, head);
    expect(await readAll(store, "a")).toEqual(countTo(4));
  });
}

function claimingAtOnce(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "claims nothing twice", async (store) => {
    await create(store, { taskId: "a", lease: released });
    expect(await store.claimLeases(claim)).toHaveLength(1);
    expect(await store.claimLeases({ ...claim, holder: "late" })).toEqual([]);
    expect(await store.claimLeases(claim)).toEqual([]);
  });

  scenario(contract, "takes at most as many as asked for and leaves the rest for later", async (store) => {
    for (let index = 0; index < 10; index++) await create(store, { taskId: `${index}`, lease: released });
    const first = await store.claimLeases({ ...claim, limit: 4 });
    const second = await store.claimLeases({ ...claim, limit: 100 });
    expect(first).toHaveLength(4);
    expect(second).toHaveLength(6);
    expect(new Set([...first, ...second].map((head) => head.taskId)).size).toBe(10);
  });

  scenario(contract, "never gives two holders the same one", async (store) => {
    for (let index = 0; index < 60; index++) await create(store, { taskId: `${index}`, lease: released });
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
}

/** Leases of a holder whose process has ended. */
function afterEnd(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "takes over the leases of a holder at once when it is known to have ended", async (store) => {
    if (!store.shared) return;
    await create(store, { taskId: "a", lease: leaseOf() });
    await create(store, { taskId: "b", lease: leaseOf({ holder: "alive" }) });
    for (const holder of ["holder", "alive"]) {
      await store.heartbeat({ holder, leaseMs: claim.leaseMs, again: false, maxStallMs: 0 });
    }
    const [first, ...others] = await store.claimLeases({ ...claim, ended: ["holder"] });
    expect([first?.taskId, first?.lease?.holder, others]).toEqual(["a", "new", []]);
    // The same holds for a lease that an append in flight stores after its process has ended.
    await create(store, { taskId: "c", lease: leaseOf() });
    expect((await store.claimLeases(claim)).map(({ taskId }) => taskId)).toEqual(["c"]);
    expect((await store.head({ taskId: "b" }))?.lease?.holder).toBe("alive");
  });
}

/** Leases of a holder that misses its heartbeats. */
function missing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(
    contract,
    "takes over what a silent holder has, where the store is shared, and never else",
    async (store) => {
      await create(store, { taskId: "a", lease: leaseOf() });
      await store.heartbeat({ holder: "holder", leaseMs: shortMs, again: false, maxStallMs: 0 });
      expect(await store.claimLeases({ ...claim, leaseMs: shortMs })).toEqual([]);
      if (store.shared) return expect(await claimInTime(store)).toEqual(["a"]);
      await sleep(2 * shortMs);
      for (let round = 0; round < 3; round++) {
        expect(await store.claimLeases({ ...claim, leaseMs: shortMs })).toEqual([]);
      }
    },
  );

  scenario(contract, "takes over what a holder has that never said that it lives", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf() });
    if (store.shared) expect(await claimInTime(store)).toEqual(["a"]);
  });

  scenario(contract, "takes nothing in its first round, nor in one that comes late", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf() });
    await store.heartbeat({ holder: "holder", leaseMs: shortMs, again: false, maxStallMs: 0 });
    for (let round = 0; round < 3; round++) {
      expect(await store.claimLeases({ ...claim, leaseMs: shortMs })).toEqual([]);
      await sleep(2 * shortMs);
    }
  });

  scenario(contract, "checks other holders with every heartbeat, however seldom it claims", async (store) => {
    if (!store.shared) return;
    const leaseMs = 5 * shortMs;
    await create(store, { taskId: "a", lease: leaseOf() });
    const begin = performance.now();
    for (let again = false; performance.now() - begin < leaseMs + shortMs; again = true) {
      await store.heartbeat({ holder: "new", leaseMs, again, maxStallMs: 0 });
      await sleep(shortMs / 3);
    }
    expect((await store.claimLeases({ ...claim, leaseMs })).map(({ taskId }) => taskId)).toEqual(["a"]);
  });

  scenario(contract, "takes what is left of a holder that it gave up, without another wait", async (store) => {
    if (!store.shared) return;
    for (const taskId of ["a", "b", "c"]) await create(store, { taskId, lease: leaseOf() });
    const request = { ...claim, leaseMs: shortMs, limit: 2 };
    expect(await claimInTime(store, request)).toEqual(["a", "b"]);
    expect((await store.claimLeases(request)).map(({ taskId }) => taskId)).toEqual(["c"]);
  });
}

function heartbeats(contract: StoreContract): void {
  const { expect } = contract.suite;
  const heartbeat = { holder: "holder", leaseMs: shortMs, again: false, maxStallMs: 0 };

  scenario(contract, "keeps what its holder has", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf() });
    for (let round = 0; round < 12; round++) {
      expect(await store.heartbeat({ ...heartbeat, again: round > 0 })).toBe(true);
      expect(await store.claimLeases({ ...claim, leaseMs: shortMs })).toEqual([]);
      await sleep(shortMs / 6);
    }
  });

  scenario(contract, "tells a holder that was given up, once, and it lives again", async (store) => {
    if (!store.shared) return;
    await create(store, { taskId: "a", lease: leaseOf() });
    expect(await store.heartbeat(heartbeat)).toBe(true);
    await claimInTime(store);
    expect(await store.heartbeat({ ...heartbeat, again: true })).toBe(false);
    expect(await store.heartbeat({ ...heartbeat, again: true })).toBe(true);
    await create(store, { taskId: "b", lease: leaseOf() });
    expect(await store.claimLeases({ ...claim, leaseMs: shortMs })).toEqual([]);
    expect((await store.head({ taskId: "a" }))?.lease?.holder).toBe("new");
  });
}

function telling(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "tells what a holder has, page by page", async (store) => {
    const taskIds = Array.from({ length: 9 }, (_, index) => `task-${index}`);
    for (const taskId of taskIds) await create(store, { taskId, lease: leaseOf({ attempt: 2 }) });
    await create(store, { taskId: "task-31", lease: leaseOf({ holder: "other" }) });
    await create(store, { taskId: "task-32" });
    const first = await store.leasesOf({ holder: "holder", after: "", limit: 5 });
    const second = await store.leasesOf({ holder: "holder", after: "task-4", limit: 5 });
    expect([...first, ...second]).toEqual(taskIds.map((taskId) => ({ taskId, holder: "holder", turn: 1, attempt: 2 })));
    expect(await store.leasesOf({ holder: "holder", after: "task-8", limit: 5 })).toEqual([]);
  });

  scenario(contract, "tells nothing of what was claimed, ended or let go of", async (store) => {
    const ended = await create(store, { taskId: "ended", lease: leaseOf() });
    await create(store, { taskId: "claimed", lease: released });
    await create(store, { taskId: "released", lease: leaseOf() });
    await store.claimLeases(claim);
    await follow(store, ended, { state: TaskState.CANCELED });
    await store.setLease({ taskId: "released", fence: leaseOf(), lease: released });
    expect(await store.leasesOf({ holder: "holder", after: "", limit: 5 })).toEqual([]);
    const [claimed] = await store.leasesOf({ holder: "new", after: "", limit: 5 });
    expect(claimed).toEqual({ taskId: "claimed", holder: "new", turn: 1, attempt: 2 });
  });
}

function setting(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "ends a lease", async (store) => {
    const head = await create(store, { taskId: "a", lease: leaseOf() });
    expect(await store.setLease({ taskId: "a", fence: leaseOf(), lease: null })).toBe("set");
    expect(await store.head({ taskId: "a" })).toEqual({ ...head, lease: null });
    expect(await store.claimLeases(claim)).toEqual([]);
  });

  scenario(contract, "moves a lease to the next turn", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf({ attempt: 3 }) }, 4);
    const next = leaseOf({ turn: 4, attempt: 1 });
    expect(await store.setLease({ taskId: "a", fence: leaseOf({ attempt: 3 }), lease: next })).toBe("set");
    expect((await store.head({ taskId: "a" }))?.lease).toEqual(next);
  });

  scenario(contract, "puts a lease up for a claim", async (store) => {
    await create(store, { taskId: "a", lease: leaseOf() });
    const lease = leaseOf({ holder: NO_HOLDER, attempt: 3 });
    await store.setLease({ taskId: "a", fence: leaseOf(), lease });
    const [claimed] = await store.claimLeases(claim);
    expect(claimed?.lease).toEqual({ holder: "new", turn: 1, attempt: 4 });
  });

  scenario(contract, "has no effect on another lease than the one that is named", async (store) => {
    const theirs = await create(store, { taskId: "theirs", lease: leaseOf({ holder: "other" }) });
    const again = await create(store, { taskId: "again", lease: leaseOf({ attempt: 2 }) });
    const free = await create(store, { taskId: "free" });
    for (const lease of [null, leaseOf({ turn: 9 })]) {
      for (const taskId of ["theirs", "again", "free", "unknown"]) {
        expect(await store.setLease({ taskId, fence: leaseOf(), lease })).toBe("lost");
        expect(await store.setLease({ taskId, fence: leaseOf(), lease, expected: 1 })).toBe("lost");
      }
    }
    expect(await store.head({ taskId: "theirs" })).toEqual(theirs);
    expect(await store.head({ taskId: "again" })).toEqual(again);
    expect(await store.head({ taskId: "free" })).toEqual(free);
    expect(await store.head({ taskId: "unknown" })).toBeUndefined();
  });

  scenario(contract, "has no effect when the log has moved on from where it is expected to end", async (store) => {
    const head = await create(store, { taskId: "a", lease: leaseOf() }, 2);
    const next = await follow(store, head);
    const request = { taskId: "a", fence: leaseOf(), lease: null };
    expect(await store.setLease({ ...request, expected: 2 })).toBe("moved");
    expect(await store.head({ taskId: "a" })).toEqual(next);
    expect(await store.setLease({ ...request, expected: 3 })).toBe("set");
  });
}
