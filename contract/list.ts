import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { TaskHead, TaskStore } from "../src/store/task-store.js";
import { create, follow, headOf, leaseOf, listAll, OWNER, type StoreContract, scenario } from "./setup.js";

/** `list`: order, filters, totals, isolation. Pages are in `paging.ts`. */
export function listContract(contract: StoreContract): void {
  contract.suite.describe("list()", () => {
    ordering(contract);
    filtering(contract);
    counting(contract);
    countingInContext(contract);
    isolation(contract);
  });
  contract.suite.describe("countOpen()", () => openTasks(contract));
}

function openTasks(contract: StoreContract): void {
  const { expect } = contract.suite;
  const { SUBMITTED, WORKING, INPUT_REQUIRED, AUTH_REQUIRED, COMPLETED, FAILED, CANCELED, REJECTED } = TaskState;

  scenario(contract, "counts one owner's tasks that are not over, as they are now", async (store) => {
    expect(await store.countOpen(OWNER)).toBe(0);
    const states = [SUBMITTED, WORKING, INPUT_REQUIRED, AUTH_REQUIRED, COMPLETED, FAILED, CANCELED, REJECTED];
    for (const state of states) await create(store, { taskId: `of-${state}`, state });
    await create(store, { taskId: "other", owner: "bob", state: WORKING });
    await create(store, { taskId: "elsewhere", tenant: "elsewhere", state: WORKING });
    expect(await store.countOpen(OWNER)).toBe(4);
    const task = await create(store, { taskId: "one", state: WORKING });
    expect(await store.countOpen(OWNER)).toBe(5);
    await follow(store, task, { state: COMPLETED });
    expect(await store.countOpen(OWNER)).toBe(4);
    await store.removeFinished({ before: Number.MAX_SAFE_INTEGER, limit: 100 });
    expect(await store.countOpen(OWNER)).toBe(4);
  });

  scenario(contract, "counts those of all tenants together where none is named", async (store) => {
    const { owner } = OWNER;
    expect(await store.countOpen({ owner })).toBe(0);
    const tasks: TaskHead[] = [];
    for (const tenant of ["", "a", "b"]) {
      for (const state of [SUBMITTED, WORKING, COMPLETED]) {
        tasks.push(await create(store, { taskId: `${state} of ${tenant}`, tenant, state }));
      }
    }
    await create(store, { taskId: "other", owner: "bob", state: WORKING });
    expect(await store.countOpen({ owner })).toBe(6);
    expect(await store.countOpen({ owner, tenant: "a" })).toBe(2);
    for (const task of tasks.filter(({ state }) => state === WORKING)) await follow(store, task, { state: CANCELED });
    for (const task of tasks.filter(({ state }) => state === SUBMITTED)) await follow(store, task, { state: WORKING });
    expect(await store.countOpen({ owner })).toBe(3);
    await store.removeFinished({ before: Number.MAX_SAFE_INTEGER, limit: 100 });
    expect(await store.countOpen({ owner })).toBe(3);
    expect(await store.countOpen({ owner, tenant: "" })).toBe(1);
    expect(await store.countOpen({ owner: "bob" })).toBe(1);
  });
}

function ordering(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "finds nothing in an empty store", async (store) => {
    expect(await store.list({ ...OWNER, limit: 10 })).toEqual({ heads: [], total: 0 });
  });

  scenario(contract, "gives whole heads", async (store) => {
    const leased = await create(store, { taskId: "a", lease: leaseOf(), contextId: "c", generation: 7 }, 2);
    const free = await create(store, { taskId: "b", statusTime: 5, state: TaskState.REJECTED });
    expect(await store.list({ ...OWNER, limit: 10 })).toEqual({ heads: [leased, free], total: 2 });
  });

  scenario(contract, "puts the newest status first, whenever the task was created", async (store) => {
    for (const [index, statusTime] of [30, 10, 50, 20, 40].entries()) {
      await create(store, { taskId: `task-${index}`, statusTime });
    }
    expect(await listAll(store, { ...OWNER, limit: 10 })).toEqual(["task-2", "task-4", "task-0", "task-3", "task-1"]);
  });

  scenario(contract, "puts the higher id first when times are equal", async (store) => {
    for (const taskId of ["b", "d", "a", "c"]) await create(store, { taskId, statusTime: 10 });
    await create(store, { taskId: "0", statusTime: 11 });
    expect(await listAll(store, { ...OWNER, limit: 10 })).toEqual(["0", "d", "c", "b", "a"]);
  });

  scenario(contract, "compares ids by the bytes of their UTF-8", async (store) => {
    const ascending = ["", "-", "0", "10", "2", "A", "B", "a", "aa", "b", "é", "中", "\ufb01", "𝒳", "🚀"];
    for (const [index] of ascending.entries()) {
      await create(store, { taskId: ascending[(index * 7) % ascending.length] ?? "" });
    }
    expect(await listAll(store, { ...OWNER, limit: 4 })).toEqual([...ascending].reverse());
  });

  scenario(contract, "moves a task when its status changes, and not when it only grows", async (store) => {
    const a = await create(store, { taskId: "a", statusTime: 10 });
    const b = await create(store, { taskId: "b", statusTime: 20 });
    const grown = await follow(store, a);
    expect((await store.list({ ...OWNER, limit: 10 })).heads).toEqual([b, grown]);
    const changed = await follow(store, grown, { statusTime: 30, state: TaskState.COMPLETED });
    expect((await store.list({ ...OWNER, limit: 10 })).heads).toEqual([changed, b]);
  });

  scenario(contract, "takes a status that is older than the one before", async (store) => {
    const a = await create(store, { taskId: "a", statusTime: 30 });
    await create(store, { taskId: "b", statusTime: 20 });
    await follow(store, a, { statusTime: 10 });
    expect(await listAll(store, { ...OWNER, limit: 10 })).toEqual(["b", "a"]);
  });

  scenario(contract, "gives as many as asked for", async (store) => {
    for (let index = 0; index < 5; index++) await create(store, { taskId: `${index}`, statusTime: index });
    for (const limit of [1, 4, 5, 6]) {
      const { heads, total } = await store.list({ ...OWNER, limit });
      expect(heads.map((head) => head.taskId)).toEqual(["4", "3", "2", "1", "0"].slice(0, limit));
      expect(total).toBe(5);
    }
  });
}

/**
 * Tasks in 3 contexts, 3 states and 4 times, so that every combination of filters matches some tasks and excludes
 * others.
 */
async function variety(store: TaskStore): Promise<TaskHead[]> {
  const heads: TaskHead[] = [];
  for (let index = 0; index < 36; index++) {
    const head = headOf({
      taskId: `task-${index}`,
      contextId: `context-${index % 3}`,
      state: [TaskState.WORKING, TaskState.COMPLETED, TaskState.INPUT_REQUIRED][Math.floor(index / 3) % 3] ?? 0,
      statusTime: 100 + Math.floor(index / 9) * 10,
    });
    await create(store, head);
    heads.push(head);
  }
  return heads;
}

function filtering(contract: StoreContract): void {
  const { expect } = contract.suite;
  const contexts = [undefined, "context-1", "nowhere"];
  const states = [undefined, TaskState.COMPLETED, TaskState.CANCELED];
  const times = [undefined, 0, 110, 111, 130, 131];

  scenario(contract, "filters by context, state and time, alone and together", async (store) => {
    const heads = await variety(store);
    for (const contextId of contexts) {
      for (const state of states) {
        for (const statusFrom of times) {
          const matching = heads.filter(
            (head) =>
              (contextId === undefined || head.contextId === contextId) &&
              (state === undefined || head.state === state) &&
              (statusFrom === undefined || head.statusTime >= statusFrom),
          );
          const filters = {
            ...(contextId !== undefined && { contextId }),
            ...(state !== undefined && { state }),
            ...(statusFrom !== undefined && { statusFrom }),
          };
          const page = await store.list({ ...OWNER, ...filters, limit: 100 });
          expect(new Set(page.heads.map((head) => head.taskId))).toEqual(new Set(matching.map((head) => head.taskId)));
          expect(page.total).toBe(matching.length);
          expect(await listAll(store, { ...OWNER, ...filters, limit: 3 })).toEqual(
            page.heads.map((head) => head.taskId),
          );
        }
      }
    }
  });

  scenario(contract, "filters by an empty context and by the unspecified state as by any other", async (store) => {
    await create(store, { taskId: "a", contextId: "", state: TaskState.UNSPECIFIED });
    await create(store, { taskId: "b" });
    expect(await listAll(store, { ...OWNER, contextId: "", limit: 10 })).toEqual(["a"]);
    expect(await listAll(store, { ...OWNER, state: TaskState.UNSPECIFIED, limit: 10 })).toEqual(["a"]);
  });
}

function counting(contract: StoreContract): void {
  const { expect } = contract.suite;
  const total = async (store: TaskStore, state?: TaskState): Promise<number> =>
    (await store.list({ ...OWNER, ...(state !== undefined && { state }), limit: 1 })).total;

  scenario(contract, "counts what the filters match, not what the page has", async (store) => {
    const heads = await variety(store);
    const after = { statusTime: 110, taskId: "task-10" };
    expect((await store.list({ ...OWNER, limit: 1 })).total).toBe(heads.length);
    expect((await store.list({ ...OWNER, after, limit: 1 })).total).toBe(heads.length);
    expect((await store.list({ ...OWNER, contextId: "context-0", after, limit: 1 })).total).toBe(12);
    expect((await store.list({ ...OWNER, statusFrom: 120, after, limit: 1 })).total).toBe(18);
  });

  scenario(contract, "counts a task in the state that it has now", async (store) => {
    const a = await create(store, { taskId: "a", state: TaskState.SUBMITTED });
    await create(store, { taskId: "b", state: TaskState.SUBMITTED });
    expect(await total(store, TaskState.SUBMITTED)).toBe(2);
    const working = await follow(store, a, { state: TaskState.WORKING });
    const grown = await follow(store, working);
    await follow(store, grown, { state: TaskState.COMPLETED });
    expect(await total(store, TaskState.SUBMITTED)).toBe(1);
    expect(await total(store, TaskState.WORKING)).toBe(0);
    expect(await total(store, TaskState.COMPLETED)).toBe(1);
    expect(await total(store)).toBe(2);
  });

  scenario(contract, "counts right after appends that arrive together, refused ones among them", async (store) => {
    const ids = Array.from({ length: 60 }, (_, index) => `task-${index}`);
    await Promise.allSettled(
      ids.flatMap((taskId) => [
        create(store, { taskId }).then((head) => follow(store, head, { state: TaskState.COMPLETED })),
        create(store, { taskId }),
      ]),
    );
    expect(await total(store)).toBe(60);
    expect(await total(store, TaskState.COMPLETED)).toBe(
      (await listAll(store, { ...OWNER, state: 3, limit: 7 })).length,
    );
  });
}

function countingInContext(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "counts a context while it becomes large, and small again", async (store) => {
    const { SUBMITTED, WORKING, COMPLETED } = TaskState;
    const expectTotals = async (all: number, states: Partial<Record<TaskState, number>>): Promise<void> => {
      const of = { ...OWNER, contextId: "crowd", limit: 2 };
      expect((await store.list(of)).total).toBe(all);
      for (const [state, tasks] of Object.entries(states)) {
        expect((await store.list({ ...of, state: Number(state) })).total, `of state ${state}`).toBe(tasks);
        expect(await listAll(store, { ...of, state: Number(state), limit: 50 })).toHaveLength(tasks);
      }
      expect(await listAll(store, { ...of, limit: 50 })).toHaveLength(all);
    };
    const add = (index: number): Promise<TaskHead> =>
      create(store, { taskId: `task-${index}`, contextId: "crowd", state: SUBMITTED, statusTime: index });
    await create(store, { taskId: "elsewhere" });
    const heads: TaskHead[] = [];
    for (const count of [63, 1, 1, 35, 50]) {
      heads.push(...(await Promise.all(Array.from({ length: count }, (_, index) => add(heads.length + index)))));
      await expectTotals(heads.length, { [SUBMITTED]: heads.length, [WORKING]: 0 });
    }
    await Promise.all(heads.slice(0, 10).map((head) => follow(store, head, { state: WORKING })));
    await Promise.all(heads.slice(10).map((head) => follow(store, head, { state: COMPLETED })));
    await expectTotals(150, { [SUBMITTED]: 0, [WORKING]: 10, [COMPLETED]: 140 });
    for (const [limit, left] of [
      [100, 50],
      [100, 10],
    ] as const) {
      await store.removeFinished({ before: Number.MAX_SAFE_INTEGER, limit });
      await expectTotals(left, { [SUBMITTED]: 0, [WORKING]: 10, [COMPLETED]: left - 10 });
    }
    await add(1_000);
    await expectTotals(11, { [SUBMITTED]: 1, [WORKING]: 10, [COMPLETED]: 0 });
  });
}

function isolation(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "shows each owner's tasks to no other owner", async (store) => {
    const places = [
      { tenant: "a", owner: "bc" },
      { tenant: "ab", owner: "c" },
      { tenant: "a", owner: "b" },
      { tenant: "", owner: "abc" },
      { tenant: "", owner: "" },
    ];
    for (const [index, place] of places.entries()) await create(store, { taskId: `task-${index}`, ...place });
    for (const [index, place] of places.entries()) {
      for (const filters of [{}, { contextId: "context" }, { state: TaskState.WORKING }, { statusFrom: 0 }]) {
        const { heads, total } = await store.list({ ...place, ...filters, limit: 10 });
        expect(heads.map((head) => head.taskId)).toEqual([`task-${index}`]);
        expect(total).toBe(1);
      }
    }
    expect(await store.list({ tenant: "abc", owner: "", limit: 10 })).toEqual({ heads: [], total: 0 });
  });
}
