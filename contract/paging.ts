import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { ListRequest, TaskHead, TaskStore } from "../src/store/task-store.js";
import { create, follow, listAll, OWNER, type StoreContract, scenario } from "./setup.js";

/** Pages of a list, including tasks that change between two pages. */
export function pagingContract(contract: StoreContract): void {
  contract.suite.describe("list() page by page", () => {
    still(contract);
    moving(contract);
  });
}

/** Tasks in runs of equal status times. */
async function fill(store: TaskStore, count: number): Promise<TaskHead[]> {
  const heads: TaskHead[] = [];
  for (let index = 0; index < count; index++) {
    const taskId = `task-${String((index * 37) % count).padStart(3, "0")}`;
    heads.push(await create(store, { taskId, statusTime: 100 + Math.floor(index / 7) }));
  }
  return heads.sort((a, b) => b.statusTime - a.statusTime || (a.taskId < b.taskId ? 1 : -1));
}

function still(contract: StoreContract): void {
  const { expect } = contract.suite;

  scenario(contract, "gives every task once, in order, whatever the size of the page", async (store) => {
    const ids = (await fill(store, 40)).map((head) => head.taskId);
    for (const limit of [1, 2, 3, 7, 39, 40, 41]) {
      expect(await listAll(store, { ...OWNER, limit })).toEqual(ids);
    }
  });

  scenario(contract, "goes on from any place, also one where no task is", async (store) => {
    const heads = await fill(store, 20);
    const places = [
      { statusTime: 101, taskId: "task-9999" },
      { statusTime: 101, taskId: "" },
      { statusTime: 0, taskId: "zzz" },
      { statusTime: 9_999, taskId: "" },
      ...heads,
    ];
    for (const after of places) {
      const { statusTime, taskId } = after;
      const expected = heads.filter(
        (head) => head.statusTime < statusTime || (head.statusTime === statusTime && head.taskId < taskId),
      );
      const page = await store.list({ ...OWNER, after: { statusTime, taskId }, limit: 100 });
      expect(page.heads).toEqual(expected);
      expect(page.total).toBe(20);
    }
  });
}

function moving(contract: StoreContract): void {
  const { expect } = contract.suite;

  for (const limit of [1, 3, 8]) {
    scenario(contract, `skips and repeats no unchanged task while others change, ${limit} at a time`, async (store) => {
      const heads = await fill(store, 42);
      const changing = heads.filter((_, index) => index % 3 === 0);
      const unchanged = heads.filter((_, index) => index % 3 !== 0).map((head) => head.taskId);
      let time = 1_000;
      const seen = await page(store, limit, async (round) => {
        const next = changing[round % changing.length];
        if (next !== undefined && round < changing.length) {
          await follow(store, next, { statusTime: time++, state: TaskState.INPUT_REQUIRED });
        }
        await create(store, { taskId: `new-${round}`, statusTime: time++ });
      });
      expect(seen.filter((taskId) => unchanged.includes(taskId))).toEqual(unchanged);
      expect(new Set(seen).size).toBe(seen.length);
    });
  }

  scenario(contract, "skips and repeats no unchanged task while others are removed", async (store) => {
    const heads = await fill(store, 30);
    const finished = heads.filter((_, index) => index % 2 === 0);
    const unchanged = heads.filter((_, index) => index % 2 === 1).map((head) => head.taskId);
    // These finished in the past: they sort after the reader's cursor until they are removed.
    for (const head of finished) await follow(store, head, { statusTime: 50, state: TaskState.COMPLETED });
    const seen = await page(store, 4, async () => {
      await store.removeFinished({ before: 60, limit: 2 });
    });
    expect(seen.filter((taskId) => unchanged.includes(taskId))).toEqual(unchanged);
  });
}

/** Ids of all pages; `meanwhile` runs after each page. */
async function page(store: TaskStore, limit: number, meanwhile: (round: number) => Promise<void>): Promise<string[]> {
  const seen: string[] = [];
  let after: ListRequest["after"];
  for (let round = 0; ; round++) {
    const { heads } = await store.list({ ...OWNER, ...(after && { after }), limit });
    const last = heads.at(-1);
    if (last === undefined) return seen;
    seen.push(...heads.map((head) => head.taskId));
    after = { statusTime: last.statusTime, taskId: last.taskId };
    await meanwhile(round);
  }
}
