import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { NO_HOLDER, type StoreErrorKind } from "../src/store/task-store.js";
import {
  bytesOf,
  countTo,
  create,
  follow,
  followRequest,
  headOf,
  leaseOf,
  numbered,
  OWNER,
  readAll,
  type StoreContract,
  scenario,
} from "./setup.js";

const terminal = [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED];
const open = [TaskState.SUBMITTED, TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];

/** `append`: accepted and rejected requests. */
export function appendContract(contract: StoreContract): void {
  contract.suite.describe("append()", () => {
    accepting(contract);
    refusing(contract);
    racing(contract);
    leasing(contract);
    fencing(contract);
    lackingLease(contract);
    mistakes(contract);
    bytes(contract);
  });
}

function accepting(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "creates a task", async (store) => {
    const lease = leaseOf({ turn: 1 });
    const head = await create(store, { taskId: "a", lease, state: TaskState.SUBMITTED }, 2);
    expect(await store.head({ taskId: "a" })).toEqual(head);
    expect(await readAll(store, "a")).toEqual(["1", "2"]);
  });

  scenario(contract, "knows nothing of other tasks", async (store) => {
    await create(store, { taskId: "a" });
    expect(await store.head({ taskId: "b" })).toBeUndefined();
    expect(await store.load({ taskId: "b" })).toBeUndefined();
    expect(await readAll(store, "b")).toEqual([]);
  });

  scenario(contract, "adds to a log and replaces the head", async (store) => {
    const created = await create(store, { taskId: "a", lease: leaseOf() });
    const second = await follow(store, created, { statusTime: 2_000, state: TaskState.INPUT_REQUIRED }, 3);
    expect(await store.head({ taskId: "a" })).toEqual(second);
    const third = await follow(store, second, { generation: 4 });
    expect(await store.head({ taskId: "a" })).toEqual(third);
    expect(await readAll(store, "a")).toEqual(countTo(5));
  });

  scenario(contract, "moves the position alone when the status stays", async (store) => {
    let head = await create(store, { taskId: "a", lease: leaseOf() });
    for (let turn = 0; turn < 20; turn++) head = await follow(store, head, {}, 1 + (turn % 3));
    expect(await store.head({ taskId: "a" })).toEqual(head);
    expect(await readAll(store, "a")).toEqual(countTo(head.position));
  });

  for (const state of open) {
    scenario(contract, `goes on after ${TaskState[state]}`, async (store) => {
      const head = await create(store, { taskId: "a", state });
      await follow(store, head, { state: TaskState.COMPLETED });
      expect(await readAll(store, "a")).toEqual(["1", "2"]);
    });
  }

  scenario(contract, "keeps appends of many tasks that arrive together", async (store) => {
    const ids = Array.from({ length: 200 }, (_, index) => `task-${index}`);
    await Promise.all(
      ids.map(async (taskId) => follow(store, await create(store, { taskId }), { state: TaskState.COMPLETED }, 3)),
    );
    for (const taskId of ids) expect(await readAll(store, taskId)).toEqual(countTo(4));
  });
}

function refusing(contract: StoreContract): void {
  const { expect } = contract.suite;

  for (const expected of [0, 1, 2, 4, 100]) {
    scenario(contract, `refuses a log of 3 that is expected to end at ${expected}`, async (store) => {
      const head = await create(store, { taskId: "a" }, 3);
      const request = { ...followRequest({ ...head, position: expected }), expected };
      await expect(store.append(request)).rejects.toMatchObject(refusedAs("conflict"));
      expect(await store.head({ taskId: "a" })).toEqual(head);
      expect(await readAll(store, "a")).toEqual(countTo(3));
    });
  }

  scenario(contract, "refuses to go on with a task that is not there", async (store) => {
    const request = followRequest(headOf({ taskId: "a" }));
    await expect(store.append(request)).rejects.toMatchObject(refusedAs("conflict"));
    expect(await store.head({ taskId: "a" })).toBeUndefined();
    expect(await readAll(store, "a")).toEqual([]);
  });

  for (const state of terminal) {
    scenario(contract, `refuses everything after ${TaskState[state]}`, async (store) => {
      const head = await create(store, { taskId: "a", state }, 2);
      for (const position of [2, 1, 3]) {
        const request = followRequest({ ...head, position }, { state: TaskState.WORKING });
        await expect(store.append(request)).rejects.toMatchObject(refusedAs("finished"));
      }
      expect(await store.head({ taskId: "a" })).toEqual(head);
      expect(await readAll(store, "a")).toEqual(["1", "2"]);
    });
  }
}

function racing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "lets exactly one of several win that expect the same position", async (store) => {
    const head = await create(store, { taskId: "a" });
    const attempts = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        store.append({ ...followRequest(head, { generation: index }), entries: [bytesOf(`from ${index}`)] }),
      ),
    );
    const lost = attempts.flatMap((attempt) => (attempt.status === "rejected" ? [attempt.reason] : []));
    expect(lost).toHaveLength(19);
    for (const reason of lost) expect(reason).toMatchObject(refusedAs("conflict"));
    const winner = attempts.findIndex((attempt) => attempt.status === "fulfilled");
    expect(await readAll(store, "a")).toEqual(["1", `from ${winner}`]);
    expect((await store.head({ taskId: "a" }))?.generation).toBe(winner);
  });

  scenario(contract, "refuses one without harm to those that arrive with it", async (store) => {
    const done = await create(store, { taskId: "done", state: TaskState.COMPLETED });
    const busy = await create(store, { taskId: "busy" }, 2);
    const attempts = await Promise.allSettled([
      create(store, { taskId: "first" }),
      store.append(followRequest(done)),
      follow(store, busy),
      store.append(followRequest({ ...busy, position: 7 })),
      create(store, { taskId: "last" }),
    ]);
    expect(attempts.map((attempt) => attempt.status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(await readAll(store, "first")).toEqual(["1"]);
    expect(await readAll(store, "busy")).toEqual(countTo(3));
    expect(await readAll(store, "last")).toEqual(["1"]);
  });
}

function leasing(contract: StoreContract): void {
  const { expect } = contract.suite;
  const wanted = leaseOf({ holder: "wants it", turn: 2 });

  scenario(contract, "takes a lease where there is none, and says nothing", async (store) => {
    const head = await create(store, { taskId: "a" });
    expect(await store.append({ ...followRequest(head), lease: wanted })).toBeUndefined();
    expect((await store.head({ taskId: "a" }))?.lease).toEqual(wanted);
  });

  scenario(contract, "leaves a lease that is there, and says which one", async (store) => {
    for (const lease of [leaseOf({ attempt: 3 }), leaseOf({ holder: NO_HOLDER }), { ...wanted, turn: 1 }]) {
      const head = await create(store, { taskId: `of ${lease.holder}`, lease });
      expect(await store.append({ ...followRequest(head), lease: wanted })).toEqual({ lease });
      expect((await store.head(head))?.lease).toEqual(lease);
    }
  });

  scenario(contract, "knows the lease by what is stored, whatever the caller believes", async (store) => {
    const head = await create(store, { taskId: "a", lease: leaseOf() });
    await store.append(followRequest({ ...head, lease: leaseOf({ holder: "nobody knows" }) }));
    expect((await store.head({ taskId: "a" }))?.lease).toEqual(leaseOf());
    await store.append({ ...followRequest({ ...head, position: 2, lease: null }), lease: wanted });
    expect((await store.head({ taskId: "a" }))?.lease).toEqual(leaseOf());
  });

  for (const state of terminal) {
    scenario(contract, `ends the lease with ${TaskState[state]}`, async (store) => {
      const head = await create(store, { taskId: "a", lease: leaseOf() });
      await store.append({ ...followRequest(head, { state }), lease: wanted });
      expect((await store.head({ taskId: "a" }))?.lease).toBeNull();
    });
  }
}

/** The lease that an append relies on, and its refusal. */
const fence = leaseOf({ attempt: 2 });
const fenced = { name: "StoreError", kind: "fenced" };

function fencing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "stores what relies on the lease that is stored", async (store) => {
    const head = await create(store, { taskId: "a", lease: fence });
    await store.append({ ...followRequest(head, {}, 2), fence });
    expect(await readAll(store, "a")).toEqual(countTo(3));
    expect((await store.head({ taskId: "a" }))?.lease).toEqual(fence);
  });

  scenario(contract, "stores what relies on the lease that it takes for a task of its own", async (store) => {
    await store.append({
      head: headOf({ taskId: "a" }),
      expected: 0,
      creates: true,
      entries: numbered(0, 1),
      fence,
      lease: fence,
    });
    expect(await readAll(store, "a")).toEqual(["1"]);
    const request = { head: headOf({ taskId: "b" }), expected: 0, creates: true, entries: numbered(0, 1), fence };
    await expect(store.append(request)).rejects.toMatchObject(fenced);
    expect(await store.head({ taskId: "b" })).toBeUndefined();
  });
}

function lackingLease(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "refuses what relies on a lease that is another's, of another attempt, or gone", async (store) => {
    const others = [
      leaseOf({ holder: "other", attempt: 2 }),
      leaseOf({ attempt: 3 }),
      leaseOf({ holder: NO_HOLDER }),
      null,
    ];
    for (const [index, lease] of others.entries()) {
      const head = await create(store, { taskId: `${index}`, lease });
      for (const state of [TaskState.WORKING, TaskState.COMPLETED]) {
        const request = { ...followRequest(head, { state }), fence };
        await expect(store.append(request)).rejects.toMatchObject(fenced);
        // The lease is checked before the position, so that a process that lost its lease does not retry at another
        // position.
        const behind = followRequest({ ...head, position: 7 }, { state });
        await expect(store.append({ ...behind, fence })).rejects.toMatchObject(fenced);
        await expect(store.append({ ...request, lease: fence })).rejects.toMatchObject(fenced);
      }
      expect(await store.head(head)).toEqual(head);
      expect(await readAll(store, head.taskId)).toEqual(["1"]);
    }
  });

  scenario(
    contract,
    "refuses what was cut off, from the moment it is claimed, and takes what needs no lease",
    async (store) => {
      const head = await create(store, { taskId: "a", lease: leaseOf() });
      await store.setLease({ taskId: "a", fence: leaseOf(), lease: leaseOf({ holder: NO_HOLDER, attempt: 1 }) });
      const [claimed] = await store.claimLeases({ holder: "new", leaseMs: 60_000, limit: 10 });
      await expect(store.append({ ...followRequest(head), fence: leaseOf() })).rejects.toMatchObject(fenced);
      await store.append({ ...followRequest(head), fence: claimed?.lease ?? undefined });
      await store.append(followRequest({ ...head, position: 2 }));
      expect(await readAll(store, "a")).toEqual(countTo(3));
    },
  );

  scenario(contract, "says finished before fenced, and fenced before conflict", async (store) => {
    const head = await create(store, { taskId: "a", state: TaskState.COMPLETED });
    await expect(store.append({ ...followRequest(head), fence })).rejects.toMatchObject(refusedAs("finished"));
  });
}

function refusedAs(kind: StoreErrorKind): object {
  return { name: "StoreError", kind };
}

function mistakes(contract: StoreContract): void {
  const { expect } = contract.suite;
  const failed = { name: "StoreError", kind: "failed" };

  scenario(contract, "refuses an append of nothing", async (store) => {
    const head = headOf({ taskId: "a", position: 0 });
    await expect(store.append({ head, expected: 0, creates: true, entries: [] })).rejects.toMatchObject(failed);
    expect(await store.head({ taskId: "a" })).toBeUndefined();
  });

  scenario(contract, "refuses a head whose position is not that of the last entry", async (store) => {
    for (const position of [0, 1, 3]) {
      const request = { head: headOf({ taskId: "a", position }), expected: 0, creates: true, entries: numbered(0, 2) };
      await expect(store.append(request)).rejects.toMatchObject(failed);
    }
    expect(await store.head({ taskId: "a" })).toBeUndefined();
  });

  scenario(contract, "creates a task by what says so alone, and nothing else by that", async (store) => {
    const request = { head: headOf({ taskId: "a" }), expected: 0, entries: numbered(0, 1) };
    await expect(store.append(request)).rejects.toMatchObject(failed);
    expect(await store.head({ taskId: "a" })).toBeUndefined();
    expect((await store.list({ ...OWNER, limit: 10 })).total).toBe(0);
    await store.append({ ...request, creates: true });
    const again = { head: headOf({ taskId: "a", position: 2 }), expected: 1, entries: numbered(1, 1) };
    await expect(store.append({ ...again, creates: true })).rejects.toMatchObject(failed);
    expect(await readAll(store, "a")).toEqual(["1"]);
  });

  scenario(contract, "refuses an expected position that is none", async (store) => {
    for (const expected of [-1, 0.5, Number.NaN]) {
      const request = { head: headOf({ taskId: "a", position: expected + 1 }), expected, entries: numbered(0, 1) };
      await expect(store.append(request)).rejects.toMatchObject(failed);
    }
  });

  scenario(contract, "refuses to move a task to another tenant, owner or context", async (store) => {
    const head = await create(store, { taskId: "a" });
    for (const moved of [{ tenant: "other" }, { owner: "other" }, { contextId: "other" }]) {
      await expect(store.append(followRequest(head, moved))).rejects.toMatchObject(failed);
    }
    expect(await store.head({ taskId: "a" })).toEqual(head);
    await follow(store, head);
  });
}

function bytes(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "keeps entries of 1 MB beside small ones, and empty ones", async (store) => {
    const large = new Uint8Array(1024 * 1024).map((_, index) => index * 7);
    const entries = [bytesOf("small"), large, new Uint8Array(0), large.subarray(1), bytesOf("end")];
    await store.append({ head: headOf({ taskId: "a", position: 5 }), expected: 0, creates: true, entries });
    const read: Uint8Array[] = [...((await store.load({ taskId: "a" }))?.entries ?? [])];
    while (read.length < entries.length)
      read.push(...(await store.read({ taskId: "a", after: read.length, limit: 9 })));
    expect(read.map((entry) => entry.length)).toEqual(entries.map((entry) => entry.length));
    expect(read.every((entry, index) => Buffer.compare(entry, entries[index] ?? entry) === 0)).toBe(true);
  });

  scenario(contract, "keeps thousands of entries of one append", async (store) => {
    await create(store, { taskId: "a" }, 10_000);
    expect(await readAll(store, "a", 999)).toEqual(countTo(10_000));
  });

  scenario(contract, "copies entries that their owner changes afterwards", async (store) => {
    const memory = bytesOf("..mine..");
    const entry = memory.subarray(2, 6);
    const stored = store.append({ head: headOf({ taskId: "a" }), expected: 0, creates: true, entries: [entry] });
    memory.fill(0);
    await stored;
    expect(await readAll(store, "a")).toEqual(["mine"]);
  });

  scenario(contract, "keeps ids and keys of any characters", async (store) => {
    const taskId = 'it\'s "a" – 任务 🚀 \\ %_;--';
    const named = { taskId, tenant: "ten\nant", owner: "ow\tner", contextId: "" };
    const head = await create(store, named);
    expect(await store.head({ taskId })).toEqual(head);
    expect(await store.list({ tenant: "ten\nant", owner: "ow\tner", limit: 10 })).toEqual({ heads: [head], total: 1 });
  });
}
