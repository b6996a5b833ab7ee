import { describe, expect, it } from "vitest";
import { Committer } from "../../../src/store/sqlite/commit.js";
import type { Database } from "../../../src/store/sqlite/driver/driver.js";
import { type ListShape, listSql, pageValues, shapeOf, totalValues } from "../../../src/store/sqlite/list.js";
import { migrate } from "../../../src/store/sqlite/migrations.js";
import { Reader } from "../../../src/store/sqlite/reader.js";
import type { ListRequest } from "../../../src/store/task-store.js";
import { openDatabase } from "../../support/database.js";

const flags = [false, true];
const shapes: ListShape[] = flags.flatMap((context) =>
  flags.flatMap((state) => flags.flatMap((from) => flags.map((after) => ({ context, state, from, after })))),
);

function requestOf(shape: ListShape): ListRequest {
  return {
    tenant: "t",
    owner: "o",
    limit: 10,
    ...(shape.context && { contextId: "c" }),
    ...(shape.state && { state: 2 }),
    ...(shape.from && { statusFrom: 5 }),
    ...(shape.after && { after: { statusTime: 9, taskId: "x" } }),
  };
}

/** How SQLite merges ranges that each have the order of the page. */
const isMerge = /^(MERGE \(UNION ALL\)|LEFT|RIGHT)$/;

function planOf(db: Database, sql: string, values: (string | number)[]): string[] {
  const rows = db
    .rows<(string | number)[], [number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...values);
  return rows.map((row) => row[3]);
}

describe("listSql()", () => {
  const db = openDatabase(":memory:");
  migrate(db);

  for (const shape of shapes) {
    const name = Object.entries(shape)
      .flatMap(([filter, on]) => (on ? [filter] : []))
      .join(", ");
    const request = requestOf(shape);

    it(`reads a page off one index, in its order, from where it begins (${name || "no filter"})`, () => {
      expect(shapeOf(request)).toEqual(shape);
      const plan = planOf(db, listSql(shape).page, pageValues(request)).filter((step) => !isMerge.test(step));
      // One range, or one of each state, of which each begins where the page does.
      expect(plan).toHaveLength(shape.context && !shape.state ? 9 : 1);
      for (const step of plan) {
        expect(step).toMatch(/^SEARCH head USING INDEX head_by_(owner|state|context) \(tenant=\? AND owner=\?/);
        expect(step).toContain(shape.context ? "context_id=? AND state=?" : shape.state ? "state=?" : "owner=?");
        if (shape.from) expect(step).toContain("status_time>?");
        if (shape.after) expect(step).toContain("(status_time,task_id)<(?,?)");
      }
    });

    it(`counts without a look at the tasks themselves (${name || "no filter"})`, () => {
      const plan = planOf(db, listSql(shape).total, totalValues(request)).filter((step) => step.startsWith("SEARCH"));
      const alongIndex = /^SEARCH head USING COVERING INDEX head_by_/;
      const counters = /^SEARCH (context_)?counter USING PRIMARY KEY \(tenant=\? AND owner=\?/;
      // A context without counters is small.
      const expected = shape.from ? [alongIndex] : shape.context ? [counters, alongIndex] : [counters];
      expect(plan).toEqual(expected.map((step) => expect.stringMatching(step)));
    });
  }
});

describe("every statement of the store", () => {
  const db = openDatabase(":memory:");
  migrate(db);
  const prepared: string[] = [];
  for (const kind of ["command", "rows", "values"] as const) {
    const prepare = db[kind].bind(db) as (sql: string) => unknown;
    db[kind] = (sql: string) => {
      prepared.push(sql);
      return prepare(sql) as never;
    };
  }
  new Reader(db);
  new Committer(db, []);
  const statements = prepared.filter((sql) => /^(SELECT|INSERT|UPDATE|DELETE)/.test(sql));

  it("is looked at here", () => {
    expect(statements.length).toBeGreaterThan(20);
  });

  for (const sql of statements) {
    it(`finds its rows by a key or an index, without sorting: ${sql.slice(0, 60)}…`, () => {
      const values = Array.from(sql.matchAll(/\?/g), () => 1);
      const plan = planOf(db, sql, values);
      for (const step of plan) {
        expect(step).not.toMatch(/TEMP B-TREE/);
        expect(step).toMatch(/^(SEARCH |SCAN CONSTANT ROW|SCALAR SUBQUERY|LIST SUBQUERY|CREATE BLOOM FILTER)/);
      }
    });
  }
});
