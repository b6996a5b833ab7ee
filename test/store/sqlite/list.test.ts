import { describe, expect, it } from "vitest";
import { headOf } from "../../../contract/setup.js";
import { STORED_ATTEMPTS } from "../../../src/store/deliveries.js";
import { Committer } from "../../../src/store/sqlite/commit.js";
import type { Database } from "../../../src/store/sqlite/driver/driver.js";
import { type ListShape, listSql, pageValues, shapeOf, totalValues } from "../../../src/store/sqlite/list.js";
import { migrate } from "../../../src/store/sqlite/migrations.js";
import {
  globalPage,
  keyAt,
  leasedPage,
  newerInContext,
  ownersPage,
  pairPage,
  type Statement,
} from "../../../src/store/sqlite/operator-list.js";
import { type ClaimedBatch, claimedOf } from "../../../src/store/sqlite/push-rows.js";
import { Reader } from "../../../src/store/sqlite/reader.js";
import { MAX_INLINE_BYTES } from "../../../src/store/sqlite/rows.js";
import type { AppendWrite, Write } from "../../../src/store/sqlite/write.js";
import { STATES } from "../../../src/store/states.js";
import { type ClaimedDelivery, type HeadKey, type ListRequest, NO_HOLDER } from "../../../src/store/task-store.js";
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

/** Lines of a query plan that merge ranges in the order of the page. */
const isMerge = /^(MERGE \(UNION ALL\)|LEFT|RIGHT|COMPOUND QUERY|LEFT-MOST SUBQUERY|UNION ALL)$/;

function planOf(db: Database, sql: string, values: (string | number)[]): string[] {
  const rows = db.rows<[number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
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
      expect(plan).toHaveLength(shape.state ? 1 : 9);
      for (const step of plan) {
        expect(step).toMatch(
          /^SEARCH head USING INDEX head_by_(state|context) \((context_id=\? AND )?tenant=\? AND owner=\?/,
        );
        expect(step).toContain(`${shape.context ? "context_id=? AND " : ""}tenant=? AND owner=? AND state=?`);
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

/** A plan of ranges of one index. */
function expectRanges(db: Database, { sql, values }: Statement, ranges: number, range: RegExp): void {
  const plan = planOf(db, sql, values).filter((step) => !isMerge.test(step));
  expect(plan).toHaveLength(ranges);
  for (const step of plan) expect(step).toMatch(range);
}

describe("the lists for operators", () => {
  const db = openDatabase(":memory:");
  migrate(db);
  const range = { before: { statusTime: 9, taskId: "x" }, from: { statusTime: 1, taskId: "" } };
  const keys = String.raw`\(status_time,task_id\)>\(\?,\?\) AND \(status_time,task_id\)<\(\?,\?\)\)$`;

  it("read the tasks of all owners off one range for each state", () => {
    for (const states of [[2], [1, 2, 6], STATES]) {
      const all = new RegExp(String.raw`^SEARCH head USING (COVERING )?INDEX head_by_status \(state=\? AND ${keys}`);
      expectRanges(db, globalPage({}, states, range, 9), states.length, all);
      expectRanges(db, keyAt(states, range, 10), states.length, all);
      // The filters use no other index, and read no row that the index rules out.
      const filtered = globalPage({ owner: "o", contextId: "c" }, states, range, 9);
      expectRanges(db, filtered, states.length, all);
    }
  });

  it("read the tasks of one owner off its own ranges", () => {
    const pair = { tenant: "t", owner: "o" };
    const place = String.raw`tenant=\? AND owner=\? AND state=\? AND ${keys}`;
    const byState = new RegExp(String.raw`^SEARCH head USING INDEX head_by_state \(${place}`);
    const byContext = new RegExp(String.raw`^SEARCH head USING INDEX head_by_context \(context_id=\? AND ${place}`);
    expectRanges(db, pairPage(pair, [1, 2], range, 9), 2, byState);
    expectRanges(db, pairPage({ ...pair, contextId: "c" }, STATES, range, 9), STATES.length, byContext);
  });

  it("find the newest task of a context, owners and leases by a key", () => {
    const head = headOf({ taskId: "a" });
    const newer =
      /^SEARCH head USING COVERING INDEX head_by_context \(context_id=\? AND tenant=\? AND owner=\? AND state=\? AND \(status_time,task_id\)>/;
    expectRanges(db, newerInContext(head), STATES.length, newer);
    for (const after of [undefined, { tenant: "t", owner: "o" }]) {
      const counters = /^SEARCH counter USING PRIMARY KEY \(/;
      expectRanges(db, ownersPage({ after, limit: 9 }), 1, counters);
      expectRanges(db, ownersPage({ tenant: "t", after, limit: 9 }), 1, counters);
    }
    const leased = /^SEARCH head USING INDEX head_leased \(\(lease_holder,task_id\)>/;
    expectRanges(db, leasedPage({ limit: 9 }), 1, leased);
    expectRanges(db, leasedPage({ after: { holder: "h", taskId: "a" }, limit: 9 }), 1, leased);
  });

  it("prepare no statement that scans or sorts", async () => {
    const prepared = new Set<string>();
    const rows = db.rows.bind(db);
    db.rows = (sql: string) => {
      prepared.add(sql);
      return rows(sql) as never;
    };
    const reader = new Reader(db);
    const committer = new Committer(db, []);
    const bytes = new Uint8Array(1);
    const heads = ["a", "b"].map((owner) => headOf({ taskId: owner, owner, state: 3, generation: 1 }));
    const parts = { finishes: true, fence: undefined, lease: undefined, send: undefined, pushConfig: undefined };
    for (const head of heads) {
      const segments = [{ count: 1, bytes }];
      const write = {
        method: "append",
        head,
        expected: 0,
        ...parts,
        segments,
        conversation: undefined,
        time: 1,
      } as const;
      expect(committer.commit([write])).toEqual([{ result: undefined }]);
    }
    const { operators } = reader;
    for (const filters of [
      {},
      { owner: "a" },
      { tenants: ["tenant"] },
      { contextId: "context" },
      { owner: "a", tenants: [] },
    ]) {
      await operators.listHeads({ ...filters, limit: 1 });
      await operators.listContexts({ ...filters, limit: 1 });
    }
    for (const limit of [1, 9]) await operators.listOwners({ limit });
    const statements = [...prepared].filter((sql) => sql.startsWith("SELECT"));
    expect(statements.length).toBeGreaterThan(15);
    for (const sql of statements) {
      for (const step of planOf(
        db,
        sql,
        Array.from(sql.matchAll(/\?/g), () => 1),
      )) {
        expect(`${step} of ${sql}`).not.toMatch(/^SCAN|TEMP B-TREE/);
      }
    }
  });

  it("examine a bounded number of tasks for a page, and all of them for all pages", async () => {
    const many = openDatabase(":memory:");
    migrate(many);
    many.exec(`
      CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250000) SELECT i FROM n;
      INSERT INTO head (task_id, tenant, owner, context_id, state, status_time, position, generation)
        SELECT 'task-' || i, iif(i <= 20, 'rare', ''), 'owner-' || (i % 1000), 'context-' || (i / 3), 3, i, 1, 1 FROM n;
      INSERT INTO counter SELECT tenant, owner, state, count(*) FROM head GROUP BY tenant, owner, state;
    `);
    const { operators } = new Reader(many);
    const newest = await operators.listHeads({ limit: 2 });
    expect(newest.heads.map(({ taskId }) => taskId)).toEqual(["task-250000", "task-249999"]);
    expect((await operators.listHeads({ owner: "owner-7", limit: 3 })).heads[0]?.taskId).toBe("task-249007");
    // More owners than lists are merged of: the list of all owners is examined, 100,000 tasks a page.
    const found: string[] = [];
    const pages: number[] = [];
    for (let after: HeadKey | undefined; ; ) {
      const page = await operators.listHeads({ tenants: ["rare"], after, limit: 50 });
      pages.push(page.heads.length);
      found.push(...page.heads.map(({ taskId }) => taskId));
      if (page.next === undefined) break;
      after = page.next;
    }
    expect(pages).toEqual([0, 0, 20]);
    expect(found).toEqual(Array.from({ length: 20 }, (_, index) => `task-${20 - index}`));
    const contexts = await operators.listContexts({ limit: 2 });
    expect(contexts.contexts.map(({ contextId, owner }) => [contextId, owner])).toEqual([
      ["context-83333", "owner-0"],
      ["context-83333", "owner-999"],
    ]);
    many.close();
  });
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
  writeEverything(new Committer(db, undefined), () => readEverything(new Reader(db)));
  const statements = [...new Set(prepared)].filter((sql) => /^(SELECT|INSERT|UPDATE|DELETE)/.test(sql));

  it("is looked at here", () => {
    expect(statements.length).toBe(105);
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

function readEverything(reader: Reader): void {
  const of = { tenant: "tenant", owner: "owner" };
  const key = { taskId: "a", configId: "d" };
  reader.call("load", { taskId: "a" });
  reader.call("load", { taskId: "a", of });
  reader.call("countOpen", { owner: "owner" });
  reader.call("listInterrupted", { before: 1, limit: 1 });
  reader.call("findSend", { ...of, key: "k" });
  reader.call("conversation", { ...of, contextId: "context" });
  reader.call("leasesOf", { holder: "h", after: "", limit: 1 });
  reader.call("getPushConfig", key);
  reader.call("listPushConfigs", { taskId: "a", after: "", limit: 1 });
  reader.call("scanPushConfigs", { limit: 1 });
  reader.call("hasDeliveryAfter", 2);
  reader.call("mayClaimDeliveries", { now: 0, holder: "h", leaseMs: 1, limit: 1 });
  reader.call("listDeadDeliveries", { limit: 1 });
  for (const filter of [{}, { taskId: "a" }, { states: ["dead"] as const }, { target: "d" }, { owner: "owner" }]) {
    reader.call("listDeliveries", { ...filter, limit: 1 });
  }
  reader.call("listAttempts", key);
}

/** Performs every kind of write on a few tasks, and each so that it changes something. */
function writeEverything(committer: Committer, read: () => void): void {
  const holder = "h";
  const lease = { holder, turn: 1, attempt: 1 };
  const fence = { holder, attempt: 1 };
  const bytes = new Uint8Array(MAX_INLINE_BYTES + 1);
  const config = { configId: "c", target: "x", bytes, maxPerTask: 9, maxPerOwner: 9, ofAllTenants: true };
  const none = { fence: undefined, lease: undefined, send: undefined, pushConfig: undefined, conversation: undefined };
  const write = (...writes: Write[]): unknown[] => {
    const outcomes = committer.commit(writes);
    for (const outcome of outcomes) expect(outcome).not.toHaveProperty("error");
    return outcomes.map((outcome) => "result" in outcome && outcome.result);
  };
  const append = (taskId: string, position: number, state: number, more: Partial<AppendWrite>): void => {
    const head = headOf({ taskId, position, state, contextId: "context" });
    const segments = [{ count: 1, bytes }];
    const finishes = state === 3;
    write({ method: "append", head, expected: position - 1, finishes, ...none, segments, time: 1, ...more });
  };
  const send = { tenant: "t", owner: "o", key: "k", fingerprint: "f", taskId: "a", position: 1 };
  const conversation = { expected: 0, version: 1, bytes };
  append("a", 1, 2, { lease, send, conversation, pushConfig: config });
  append("a", 2, 2, {});
  append("a", 3, 6, {});
  for (let index = 0; index < 70; index++) append(`b${index}`, 1, 3, {});
  // More rows than one removal deletes.
  const many = Array.from({ length: 1_100 }, () => ({ count: 1, bytes: new Uint8Array(1) }));
  append("c", 1_100, 2, { expected: 0, segments: many });
  for (const position of [1, 2]) {
    const snapshot = { position, bytes };
    for (let times = 0; times < 2; times++) {
      write({ method: "saveSnapshot", request: { taskId: "a", snapshot: { ...snapshot, last: times === 1 } } });
    }
  }
  const beat = { holder, leaseMs: 1, again: false, maxStallMs: 1 };
  write({ method: "heartbeat", request: beat }, { method: "heartbeatForHolder", request: beat });
  write({ method: "setLease", request: { taskId: "a", fence, lease: { ...lease, holder: NO_HOLDER }, expected: 3 } });
  write({ method: "claimLeases", request: { holder, leaseMs: 1, limit: 1, ended: ["gone"] } });
  const key = { taskId: "a", configId: "c" };
  write({ method: "putPushConfig", request: { ...config, ...key, now: 1 } });
  write({ method: "putPushConfig", request: { ...config, taskId: "b1", now: 1 } });
  write({ method: "rewritePushConfig", request: { ...key, from: bytes, to: bytes } });
  write({ method: "rescheduleDeliveries", request: { latest: 0, to: 0 } });
  const attempt = { time: 1, durationMs: 1, generation: 1, status: 500, answer: "" };
  for (let times = 0; times <= STORED_ATTEMPTS; times++) {
    const claims = { holder, leaseMs: 1, now: 1, limit: 1, capacity: { of: new Map([["y", 0]]), others: 9 } };
    const [batch] = write({ method: "claimDeliveries", request: { ...claims, again: times === 1 } });
    const [{ claim }] = claimedOf(batch as ClaimedBatch) as [ClaimedDelivery];
    write({ method: "savePushPosition", request: { key, holder, claim, position: 1 } });
    const outcome = { kind: "dead", at: 1, failure: "f", attempt } as const;
    write({ method: "completeDelivery", request: { key, holder, claim, position: 1, outcome } });
    write({ method: "redriveDeliveries", request: { now: 1, keys: [key] } });
  }
  const targets = ["d", "e", "f", "g", "i", "j"];
  for (const configId of targets) {
    write({ method: "putPushConfig", request: { ...config, taskId: "a", configId, target: configId, now: 1 } });
  }
  append("a", 4, 6, {});
  for (const _ of targets) {
    write({ method: "claimDeliveries", request: { holder, leaseMs: 1, now: 1, limit: 1 } });
  }
  read();
  write({ method: "deletePushConfig", request: key });
  write({ method: "removeFinished", request: { before: Number.MAX_SAFE_INTEGER, limit: 64 } });
  for (const taskId of ["c", "a", "b1"]) {
    write({ method: "removeTasks", request: { taskIds: [taskId], unfinished: true } });
  }
}
