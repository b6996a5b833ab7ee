import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { headOf, OWNER } from "../../../contract/setup.js";
import { type Listed, OrderedHeads, OwnerHeads } from "../../../src/store/memory/list.js";

const item = (taskId: string, statusTime: number, named: object = {}): Listed => ({
  head: headOf({ taskId, statusTime, ...named }),
});

const ids = (list: OrderedHeads<Listed>): string[] =>
  list.page({ ...OWNER, limit: 1_000 }).heads.map((head) => head.taskId);

describe("OrderedHeads", () => {
  it("keeps its order through any additions and removals", () => {
    const change = fc.record({ id: fc.nat(15), time: fc.nat(4), add: fc.boolean() });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const list = new OrderedHeads<Listed>();
        const model = new Map<number, Listed>();
        for (const { id, time, add } of changes) {
          const known = model.get(id);
          if (known !== undefined) list.remove(known);
          model.delete(id);
          if (!add) continue;
          const added = item(`task-${String(id).padStart(2, "0")}`, time);
          list.add(added);
          model.set(id, added);
        }
        const sorted = [...model.values()].sort(
          (a, b) => b.head.statusTime - a.head.statusTime || (a.head.taskId < b.head.taskId ? 1 : -1),
        );
        expect(ids(list)).toEqual(sorted.map(({ head }) => head.taskId));
      }),
    );
  });

  it("removes nothing that is not in", () => {
    const list = new OrderedHeads<Listed>();
    list.add(item("a", 1));
    list.remove(item("a", 1));
    list.remove(item("b", 5));
    expect(ids(list)).toEqual(["a"]);
  });

  it("shows the head that an item has now", () => {
    const list = new OrderedHeads<Listed>();
    const a = item("a", 1);
    list.add(a);
    a.head = headOf({ taskId: "a", statusTime: 1, position: 7 });
    expect(list.page({ ...OWNER, limit: 1 }).heads[0]?.position).toBe(7);
  });

  it("gives the oldest first of what is older than a time", () => {
    const list = new OrderedHeads<Listed>();
    for (const [index, time] of [5, 3, 9, 3, 1].entries()) list.add(item(`${index}`, time));
    const older = (time: number, limit = 10): string[] => list.olderThan(time, limit).map(({ head }) => head.taskId);
    expect(older(1)).toEqual([]);
    expect(older(5)).toEqual(["4", "1", "3"]);
    expect(older(6, 2)).toEqual(["4", "1"]);
    expect(older(100)).toHaveLength(5);
  });
});

describe("OwnerHeads", () => {
  it("filters a page and counts beyond it", () => {
    const list = new OwnerHeads<Listed>();
    for (let index = 0; index < 12; index++) {
      list.add(item(`${index}`.padStart(2, "0"), index, { contextId: `c${index % 2}`, state: 1 + (index % 3) }));
    }
    const page = list.page({
      ...OWNER,
      contextId: "c0",
      statusFrom: 3,
      after: { statusTime: 10, taskId: "10" },
      limit: 2,
    });
    expect(page.heads.map((head) => head.taskId)).toEqual(["08", "06"]);
    expect(page.total).toBe(4);
    expect(list.page({ ...OWNER, state: 1, limit: 0 })).toEqual({ heads: [], total: 4 });
  });
});
