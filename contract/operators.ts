import type { ContextSummary, HeadsRequest, OwnerUsage, TaskHead, TaskStore } from "../src/store/task-store.js";
import { isTerminal } from "../src/task/state.js";
import {
  bytesOf,
  configOf,
  countTo,
  create,
  follow,
  headOf,
  leaseOf,
  numbered,
  readAll,
  type StoreContract,
  scenario,
} from "./setup.js";

/** The part of the interface for operators: lists over all owners, and the removal of named tasks. */
export function operatorContract(contract: StoreContract): void {
  contract.suite.describe("listHeads()", () => {
    listing(contract);
    changing(contract);
  });
  contract.suite.describe("listContexts()", () => contexts(contract));
  contract.suite.describe("listOwners()", () => owners(contract));
  contract.suite.describe("listLeased()", () => leased(contract));
  contract.suite.describe("removeTasks()", () => {
    removing(contract);
    removingMore(contract);
  });
}

/** Tasks of 3 owners under 3 tenants, in 3 contexts, 4 states and 5 times. */
async function variety(store: TaskStore, count = 72): Promise<TaskHead[]> {
  const heads: TaskHead[] = [];
  for (let index = 0; index < count; index++) {
    const owner = ["", "alice", "bob"][index % 3] ?? "";
    const tenant = ["", "a", "b"][Math.floor(index / 3) % 3] ?? "";
    const state = [1, 2, 3, 6][Math.floor(index / 2) % 4] ?? 0;
    const contextId = `context-${Math.floor(index / 5) % 3}`;
    const statusTime = 100 + ((index * 7) % 5) * 10;
    heads.push(await create(store, { taskId: `task-${index}`, owner, tenant, state, contextId, statusTime }));
  }
  return heads;
}

function matching(heads: readonly TaskHead[], request: Omit<HeadsRequest, "limit">): TaskHead[] {
  const { tenants, owner, contextId, states = [], statusFrom = 0, statusBefore = Number.MAX_SAFE_INTEGER } = request;
  return heads
    .filter((head) => tenants === undefined || tenants.includes(head.tenant))
    .filter((head) => owner === undefined || head.owner === owner)
    .filter((head) => contextId === undefined || head.contextId === contextId)
    .filter((head) => states.length === 0 || states.includes(head.state))
    .filter((head) => head.statusTime >= statusFrom && head.statusTime < statusBefore)
    .sort((a, b) => b.statusTime - a.statusTime || (a.taskId < b.taskId ? 1 : -1));
}

async function allHeads(store: TaskStore, request: HeadsRequest): Promise<TaskHead[]> {
  const found: TaskHead[] = [];
  for (let after = request.after; ; ) {
    const { heads, next } = await store.listHeads({ ...request, after });
    found.push(...heads);
    if (next === undefined) return found;
    after = next;
  }
}

function listing(contract: StoreContract): void {
  const { suite, fc } = contract;
  const { expect } = suite;

  scenario(contract, "finds nothing in an empty store", async (store) => {
    expect(await store.listHeads({ limit: 10 })).toEqual({ heads: [] });
  });

  scenario(
    contract,
    "gives the tasks of all owners and tenants, filtered in every way, page by page",
    async (store) => {
      const heads = await variety(store);
      const optional = <T>(...values: T[]) => fc.constantFrom(undefined, undefined, ...values);
      const request = fc.record({
        tenants: optional<readonly string[]>([], [""], ["a"], ["a", "b"], ["b", "nowhere", "b"]),
        owner: optional("", "alice", "nobody"),
        contextId: optional("context-1", "nowhere"),
        states: optional<readonly number[]>([], [2], [1, 6], [3, 3], [4]),
        statusFrom: optional(0, 110, 131),
        statusBefore: optional(0, 120, 999),
        limit: fc.integer({ min: 1, max: 80 }),
      });
      const property = fc.asyncProperty(request, async (filters) => {
        expect(await allHeads(store, filters)).toEqual(matching(heads, filters));
      });
      await fc.assert(property, { numRuns: 150 });
    },
  );

  scenario(contract, "filters by tenant or owner among many of them", async (store) => {
    const heads: TaskHead[] = [];
    for (let index = 0; index < 400; index++) {
      const owner = `owner-${index % 40}`;
      const tenant = `tenant-${index % 30}`;
      heads.push(
        await create(store, { taskId: `${index}`, owner, tenant, contextId: "shared", statusTime: index % 50 }),
      );
    }
    for (const filters of [{ tenants: ["tenant-3", "tenant-4"] }, { owner: "owner-7" }, { contextId: "shared" }]) {
      expect(await allHeads(store, { ...filters, limit: 7 })).toEqual(matching(heads, filters));
    }
  });
}

function changing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "skips and repeats no unchanged task while others change", async (store) => {
    const heads = await variety(store, 45);
    const movable = heads.filter((head, index) => index % 3 === 0 && !isTerminal(head.state));
    const unchanged = matching(heads, {}).filter((head) => !movable.includes(head));
    const seen: string[] = [];
    let time = 1_000;
    for (let after: HeadsRequest["after"]; ; ) {
      const { heads: page, next } = await store.listHeads({ after, limit: 4 });
      seen.push(...page.map(({ taskId }) => taskId));
      if (next === undefined) break;
      after = next;
      const moved = movable.shift();
      if (moved !== undefined) await follow(store, moved, { statusTime: time++, state: 6 });
      await create(store, { taskId: `new-${time}`, statusTime: time++ });
    }
    const ids = unchanged.map(({ taskId }) => taskId);
    expect(seen.filter((taskId) => ids.includes(taskId))).toEqual(ids);
    expect(new Set(seen).size).toBe(seen.length);
  });
}

function contexts(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "gives each context once, with its numbers, the newest activity first", async (store) => {
    const heads = await variety(store);
    // A context that is large enough for counters of its own.
    for (let index = 0; index < 70; index++) {
      heads.push(await create(store, { taskId: `large-${index}`, contextId: "large", state: index < 9 ? 2 : 3 }));
    }
    const conversation = { expected: 0, version: 1, bytes: bytesOf("twelve bytes") };
    const stateful = headOf({ taskId: "stateful", contextId: "stateful", statusTime: 5_000 });
    await store.append({ head: stateful, expected: 0, creates: true, entries: numbered(0, 1), conversation });
    heads.push(stateful);
    for (const filters of [{}, { tenants: ["a"] }, { owner: "alice" }, { tenants: [""], owner: "bob" }]) {
      const expected = contextsOf(matching(heads, filters));
      for (const limit of [1, 4, 100]) expect(await allContexts(store, { ...filters, limit })).toEqual(expected);
    }
  });
}

async function allContexts(store: TaskStore, request: Parameters<TaskStore["listContexts"]>[0]): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let after = request.after; ; ) {
    const { contexts, next } = await store.listContexts({ ...request, after });
    found.push(...contexts);
    if (next === undefined) return found;
    after = next;
  }
}

/** @param heads in the order of lists */
function contextsOf(heads: readonly TaskHead[]): ContextSummary[] {
  const found = new Map<string, ContextSummary>();
  for (const { tenant, owner, contextId, statusTime, state } of heads) {
    const key = JSON.stringify([tenant, owner, contextId]);
    const before = found.get(key) ?? { tenant, owner, contextId, tasks: 0, openTasks: 0, statusTime, stateBytes: 0 };
    const stateBytes = contextId === "stateful" ? 12 : 0;
    const openTasks = before.openTasks + (isTerminal(state) ? 0 : 1);
    found.set(key, { ...before, tasks: before.tasks + 1, openTasks, stateBytes });
  }
  return [...found.values()];
}

function owners(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "gives each owner under each tenant with what it uses, in order", async (store) => {
    const heads = await variety(store);
    await store.putPushConfig(configOf({ taskId: "task-1", configId: "x" }));
    await store.putPushConfig(configOf({ taskId: "task-1", configId: "y" }));
    const expected = usageOf(heads).map((usage) => {
      const { tenant, owner } = heads[1] ?? usage;
      return usage.tenant === tenant && usage.owner === owner ? { ...usage, pushConfigs: 2 } : usage;
    });
    expect(expected).toHaveLength(9);
    for (const limit of [1, 2, 9, 100]) expect(await allOwners(store, { limit })).toEqual(expected);
    const ofA = expected.filter(({ tenant }) => tenant === "a");
    for (const limit of [1, 2, 100]) expect(await allOwners(store, { tenant: "a", limit })).toEqual(ofA);
  });

  scenario(contract, "forgets an owner with its last task", async (store) => {
    for (const owner of ["alice", "bob"]) await create(store, { taskId: owner, owner, state: 3 });
    expect(await store.removeTasks({ taskIds: ["alice"] })).toBe(1);
    expect((await store.listOwners({ limit: 10 })).map(({ owner }) => owner)).toEqual(["bob"]);
    expect(await store.removeFinished({ before: 9_999, limit: 10 })).toBe(1);
    expect(await store.listOwners({ limit: 10 })).toEqual([]);
    await create(store, { taskId: "again", owner: "alice" });
    expect(await store.listOwners({ limit: 10 })).toMatchObject([{ owner: "alice", tasks: 1, openTasks: 1 }]);
    expect(await store.countOpen({ owner: "alice" })).toBe(1);
  });
}

async function allOwners(store: TaskStore, request: Parameters<TaskStore["listOwners"]>[0]): Promise<OwnerUsage[]> {
  const found: OwnerUsage[] = [];
  for (;;) {
    const page = await store.listOwners({ ...request, after: found.at(-1) });
    found.push(...page);
    if (page.length < request.limit) return found;
  }
}

function usageOf(heads: readonly TaskHead[]): OwnerUsage[] {
  const found = new Map<string, OwnerUsage>();
  for (const { tenant, owner, state, statusTime } of heads) {
    const key = `${tenant} ${owner}`;
    const before = found.get(key) ?? { tenant, owner, tasks: 0, openTasks: 0, pushConfigs: 0, statusTime };
    const openTasks = before.openTasks + (isTerminal(state) ? 0 : 1);
    const newest = Math.max(before.statusTime, statusTime);
    found.set(key, { ...before, tasks: before.tasks + 1, openTasks, statusTime: newest });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, usage]) => usage);
}

function leased(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "gives the leased tasks by holder and id", async (store) => {
    const heads: TaskHead[] = [];
    for (const taskId of ["c", "a", "d", "b"]) {
      const lease = leaseOf({ holder: taskId < "c" ? "two" : "one" });
      heads.push(await create(store, { taskId, lease }));
    }
    await create(store, { taskId: "free" });
    const free = await create(store, { taskId: "up for claim", lease: leaseOf({ holder: "" }) });
    const ended = await create(store, { taskId: "ended", lease: leaseOf() });
    await follow(store, ended, { state: 3 });
    const order = [free, ...["c", "d", "a", "b"].map((taskId) => heads.find((head) => head.taskId === taskId))];
    for (const limit of [1, 2, 10]) {
      const found: TaskHead[] = [];
      for (;;) {
        const last = found.at(-1);
        const after = last && { holder: last.lease?.holder ?? "", taskId: last.taskId };
        const page = await store.listLeased({ after, limit });
        found.push(...page);
        if (page.length < limit) break;
      }
      expect(found).toEqual(order);
    }
  });
}

function removing(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "removes the finished ones among the named, with everything of them", async (store) => {
    for (const [taskId, state] of Object.entries({ gone: 3, other: 3, open: 2 })) {
      const send = { tenant: "tenant", owner: "owner", key: taskId, fingerprint: "f", taskId, position: 1 };
      const head = headOf({ taskId, contextId: taskId, state, position: 3 });
      const conversation = { expected: 0, version: 1, bytes: bytesOf("state") };
      await store.append({ head, expected: 0, creates: true, entries: numbered(0, 3), send, conversation });
      await store.saveSnapshot({ taskId, snapshot: { position: 2, bytes: bytesOf("fold") } });
      await store.putPushConfig(configOf({ taskId, configId: "x" }));
    }
    expect(await store.removeTasks({ taskIds: ["gone", "open", "gone", "unknown"] })).toBe(1);
    const scope = { tenant: "tenant", owner: "owner" };
    for (const taskId of ["gone", "other", "open"]) {
      const isGone = taskId === "gone";
      expect((await store.head({ taskId })) === undefined).toBe(isGone);
      expect(await readAll(store, taskId)).toEqual(isGone ? [] : countTo(3));
      expect((await store.findSend({ ...scope, key: taskId })) === undefined).toBe(isGone);
      expect((await store.getPushConfig({ taskId, configId: "x" })) === undefined).toBe(isGone);
      expect((await store.conversation({ ...scope, contextId: taskId })) === undefined).toBe(isGone);
    }
    expect(await store.removeTasks({ taskIds: [] })).toBe(0);
  });

  scenario(contract, "removes a task whose deliveries are due, and frees its owner's limit", async (store) => {
    const task = await create(store, { taskId: "a" });
    const config = configOf({ taskId: "a", configId: "x", maxPerOwner: 1 });
    await store.putPushConfig(config);
    await follow(store, task, { state: 3 });
    const [claim] = await store.claimDeliveries({ holder: "h", leaseMs: 1_000, now: 9_999, limit: 1 });
    expect(claim).toMatchObject({ taskId: "a" });
    expect(await store.removeFinished({ before: 9_999, limit: 10 })).toBe(0);
    expect(await store.removeTasks({ taskIds: ["a"] })).toBe(1);
    const progress = { key: { taskId: "a", configId: "x" }, holder: "h", claim: claim?.claim ?? 0, position: 2 };
    expect(await store.savePushPosition(progress)).toBe("lost");
    expect(await store.nextDelivery()).toBeUndefined();
    await create(store, { taskId: "b" });
    expect(await store.putPushConfig({ ...config, taskId: "b" })).toBe("put");
  });

  scenario(contract, "keeps the state of a conversation until its last task is removed", async (store) => {
    const conversation = { expected: 0, version: 1, bytes: bytesOf("state") };
    const head = headOf({ taskId: "a", state: 3 });
    await store.append({ head, expected: 0, creates: true, entries: numbered(0, 1), conversation });
    await create(store, { taskId: "b", state: 3 });
    const key = { tenant: head.tenant, owner: head.owner, contextId: head.contextId };
    await store.removeTasks({ taskIds: ["a"] });
    expect(await store.conversation(key)).toMatchObject({ version: 1 });
    await store.removeTasks({ taskIds: ["b"] });
    expect(await store.conversation(key)).toBeUndefined();
  });
}

function removingMore(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(
    contract,
    "removes unfinished ones on request, with their leases and what counts for limits",
    async (store) => {
      const task = await create(store, { taskId: "a", state: 2, lease: leaseOf({ holder: "h" }) }, 2);
      const config = configOf({ taskId: "a", configId: "x", maxPerOwner: 1 });
      await store.putPushConfig(config);
      await create(store, { taskId: "b", state: 3 });
      expect(await store.removeTasks({ taskIds: ["a", "b"], unfinished: true })).toBe(2);
      expect(await store.head({ taskId: "a" })).toBeUndefined();
      expect(await readAll(store, "a")).toEqual([]);
      expect(await store.listLeased({ limit: 10 })).toEqual([]);
      expect(await store.leasesOf({ holder: "h", after: "", limit: 10 })).toEqual([]);
      expect(await store.countOpen({ owner: "owner" })).toBe(0);
      expect(await store.listOwners({ limit: 10 })).toEqual([]);
      // Later appends of its execution are refused.
      await expect(follow(store, task, { state: 3 })).rejects.toMatchObject({ kind: "conflict" });
      await create(store, { taskId: "c" });
      expect(await store.putPushConfig({ ...config, taskId: "c" })).toBe("put");
    },
  );

  scenario(contract, "removes as many as are named", async (store) => {
    const taskIds = Array.from({ length: 150 }, (_, index) => `${index}`);
    for (const taskId of taskIds) await create(store, { taskId, state: 3 });
    expect(await store.removeTasks({ taskIds: taskIds.slice(10) })).toBe(140);
    expect((await store.listHeads({ limit: 100 })).heads).toHaveLength(10);
  });
}
