import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { configOf, headOf, leaseOf, numbered, OWNER } from "../../../contract/setup.js";
import { planSegments, writeEntries } from "../../../src/store/segment.js";
import { Committer, type Outcome } from "../../../src/store/sqlite/commit.js";
import { codeOf } from "../../../src/store/sqlite/driver/codes.js";
import type { Database, Parameter, Query } from "../../../src/store/sqlite/driver/driver.js";
import { migrate } from "../../../src/store/sqlite/migrations.js";
import type { AppendWrite, Write } from "../../../src/store/sqlite/write.js";
import { NO_HOLDER, type TaskHead } from "../../../src/store/task-store.js";
import { openDatabase } from "../../support/database.js";
import { temporaryFile } from "./files.js";

let statements: string[] = [];
let queries: string[] = [];
let db: Database;
let committer: Committer;

beforeEach(() => {
  statements = [];
  db = recorded(openDatabase(":memory:"));
  migrate(db);
  committer = new Committer(db, []);
  statements = [];
  queries = [];
});

/** Records the statements that a connection runs, apart from those that return rows. */
function recorded(real: Database): Database {
  for (const kind of ["rows", "values"] as const) {
    const prepare = real[kind].bind(real) as (sql: string) => Query<never>;
    const wrap = (sql: string): Query<never> => {
      const made = prepare(sql);
      const noted = (values: Parameter[]): Parameter[] => {
        queries.push(sql);
        return values;
      };
      return {
        get: (...values: Parameter[]) => made.get(...noted(values)),
        all: (...values: Parameter[]) => made.all(...noted(values)),
        iterate: (...values: Parameter[]) => made.iterate(...noted(values)),
      };
    };
    // One function for two methods, whose types the compiler cannot join.
    real[kind] = wrap as never;
  }
  const command = real.command.bind(real);
  real.command = (sql) => {
    const made = command(sql);
    return {
      run: (...values) => {
        statements.push(sql);
        return made.run(...values);
      },
    };
  };
  return real;
}

/** An append of numbered entries as the writer gets it. */
function append(named: Partial<TaskHead> & Pick<TaskHead, "taskId">, expected = 0, size = 0): AppendWrite {
  const head = headOf({ position: expected + 1, ...named });
  const entries = size === 0 ? numbered(expected, head.position - expected) : [new Uint8Array(size)];
  const [plan] = planSegments(entries);
  const bytes = new Uint8Array(plan?.bytes ?? 0);
  writeEntries(bytes, 0, entries);
  const finishes = head.state === 3;
  const segments = [{ count: entries.length, bytes }];
  const nothing = {
    send: undefined,
    fence: undefined,
    lease: undefined,
    pushConfig: undefined,
    conversation: undefined,
  };
  return { method: "append", head, expected, finishes, segments, time: head.statusTime, ...nothing };
}

function kinds(outcomes: readonly Outcome[]): unknown[] {
  return outcomes.map((outcome) => ("error" in outcome ? outcome.error.kind : outcome.result));
}

const count = (sql: string): number => statements.filter((statement) => statement.startsWith(sql)).length;
const tasks = (): unknown => db.values("SELECT task_id FROM head ORDER BY task_id").all();

/** The counters as they are, and as counting the tasks would make them. */
function counters(): { kept: unknown; counted: unknown } {
  return {
    kept: db.rows("SELECT tenant, owner, state, tasks FROM counter WHERE tasks <> 0 ORDER BY 1, 2, 3").all(),
    counted: db
      .rows("SELECT tenant, owner, state, count(*) AS tasks FROM head GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")
      .all(),
  };
}

describe("Committer.commit()", () => {
  it("does many writes in one transaction", () => {
    const writes = Array.from({ length: 100 }, (_, index) => append({ taskId: `${index}` }));
    expect(kinds(committer.commit(writes))).toEqual(writes.map(() => undefined));
    expect(count("BEGIN IMMEDIATE")).toBe(1);
    expect(count("COMMIT")).toBe(1);
    expect(tasks()).toHaveLength(100);
  });

  it("writes each counter once, however many tasks it counts", () => {
    committer.commit(Array.from({ length: 100 }, (_, index) => append({ taskId: `${index}`, state: 1 + (index % 2) })));
    expect(count("INSERT INTO counter")).toBe(2);
    statements = [];
    committer.commit([
      append({ taskId: "0", state: 2, position: 2 }, 1),
      append({ taskId: "1", state: 1, position: 2 }, 1),
    ]);
    expect(count("INSERT INTO counter")).toBe(0);
    expect(counters().kept).toEqual(counters().counted);
  });

  it("answers with the results of the methods, in order", () => {
    const outcomes = committer.commit([
      { ...append({ taskId: "a" }), lease: leaseOf({ holder: NO_HOLDER }) },
      { method: "claimLeases", request: { holder: "new", leaseMs: 60_000, limit: 10 } },
      { method: "setLease", request: { taskId: "a", fence: leaseOf(), lease: null } },
      append({ taskId: "b", state: 3, statusTime: 1 }),
      { method: "removeFinished", request: { before: 5, limit: 10 } },
    ]);
    const lease = { holder: "new", turn: 1, attempt: 2 };
    const claimed = [headOf({ taskId: "a", lease })];
    expect(kinds(outcomes)).toEqual([undefined, claimed, "lost", undefined, { removed: 1, more: false, spare: false }]);
    expect(tasks()).toEqual(["a"]);
  });

  it("refuses one alone, and lets later writes of the same transaction see the earlier ones", () => {
    const outcomes = committer.commit([
      append({ taskId: "a" }),
      append({ taskId: "a" }),
      append({ taskId: "a", position: 2, state: 3 }, 1),
      append({ taskId: "a", position: 3 }, 2),
      append({ taskId: "b" }),
    ]);
    expect(kinds(outcomes)).toEqual([undefined, "conflict", undefined, "finished", undefined]);
    expect(count("COMMIT")).toBe(1);
    expect(count("ROLLBACK")).toBe(0);
  });

  it("touches no index when only the position moves", () => {
    committer.commit([{ ...append({ taskId: "a" }), lease: leaseOf() }]);
    statements = [];
    committer.commit([{ ...append({ taskId: "a", position: 2, generation: 2 }, 1), fence: leaseOf() }]);
    const updates = statements.filter((statement) => statement.startsWith("UPDATE head"));
    expect(updates).toHaveLength(1);
    expect(updates[0]).toMatch(/^UPDATE head SET position = \S+, generation = \S+ WHERE/);
  });

  it("asks nothing about push configurations of tasks that have none", () => {
    const history = (taskId: string): AppendWrite[] => [
      append({ taskId }),
      append({ taskId, position: 2 }, 1),
      append({ taskId, position: 3, state: 3 }, 2),
    ];
    const asked = (): string[] => [...statements, ...queries].filter((sql) => /push/.test(sql.replace(/pushed/g, "")));
    committer.commit(history("a"));
    expect(asked()).toEqual([]);
    const [first, ...rest] = history("b");
    committer.commit([{ ...first!, pushConfig: configOf({ taskId: "b", configId: "x" }) }, ...rest]);
    expect(asked()).not.toEqual([]);
  });
});

describe("Committer.commit() when SQLite fails", () => {
  it("fails alone what SQLite cannot store", () => {
    const outcomes = committer.commit([
      append({ taskId: "a" }),
      append({ taskId: "b", statusTime: Number.NaN }),
      append({ taskId: "c" }),
    ]);
    expect(kinds(outcomes)).toEqual([undefined, "failed", undefined]);
    expect(tasks()).toEqual(["a", "c"]);
    expect(counters().kept).toEqual(counters().counted);
  });

  it("fails alone what does not fit on the disk", () => {
    const pages = db.pragma("page_count") as number;
    db.pragma(`max_page_count = ${pages + 8}`);
    const outcomes = committer.commit([
      append({ taskId: "a" }),
      append({ taskId: "b" }, 0, 90_000),
      append({ taskId: "c" }),
    ]);
    expect(kinds(outcomes)).toEqual([undefined, "unavailable", undefined]);
    expect(tasks()).toEqual(["a", "c"]);
    expect(counters().kept).toEqual(counters().counted);
    expect(db.inTransaction).toBe(false);
  });

  it("fails all when there is no transaction to be had, and goes on when there is", () => {
    const path = temporaryFile();
    const mine = openDatabase(path, { timeoutMs: 0 });
    const other = openDatabase(path);
    migrate(mine);
    other.exec("BEGIN IMMEDIATE");
    const blocked = new Committer(mine, []);
    expect(kinds(blocked.commit([append({ taskId: "a" }), append({ taskId: "b" })]))).toEqual([
      "unavailable",
      "unavailable",
    ]);
    other.exec("ROLLBACK");
    expect(kinds(blocked.commit([append({ taskId: "a" }), append({ taskId: "b" })]))).toEqual([undefined, undefined]);
    mine.close();
    other.close();
  });

  it("says what SQLite said", () => {
    const [outcome] = committer.commit([append({ taskId: "a", statusTime: Number.NaN })]);
    const error = outcome !== undefined && "error" in outcome ? outcome.error : undefined;
    expect(error?.message).toContain("NOT NULL constraint failed: head.status_time");
    expect(codeOf(error?.cause)).toBe("SQLITE_CONSTRAINT_NOTNULL");
  });
});

describe("leases after a rollback", () => {
  const broken = append({ taskId: "broken", statusTime: Number.NaN });
  const claim: Write = { method: "claimLeases", request: { holder: "new", leaseMs: 60_000, limit: 10 } };
  const claimed = headOf({ taskId: "a", lease: leaseOf({ holder: "new", attempt: 2 }) });
  const beat = { holder: "slow", leaseMs: 60_000, again: true, maxStallMs: 60_000 };
  const own: Write = { method: "heartbeat", request: beat };

  /** A committer of a file whose last process is gone and left a lease. */
  function afterEnd(): Committer {
    const next = new Committer(db, ["gone"]);
    next.commit([{ ...append({ taskId: "a" }), lease: leaseOf({ holder: "gone" }) }]);
    return next;
  }

  /** A committer of a shared file, whose holder is evicted and does not know yet. */
  function afterEviction(): Committer {
    const shared = new Committer(db, undefined);
    expect(kinds(shared.commit([{ method: "heartbeatForHolder", request: beat }]))).toEqual([false]);
    return shared;
  }

  function failNextCommit(): void {
    const command = db.command.bind(db);
    const fail = (): never => {
      db.command = command;
      throw new Error("The disk is full.");
    };
    db.command = (sql) => (sql === "COMMIT" ? { run: fail } : command(sql));
  }

  it("of an ended process are claimed in the repeat", () => {
    expect(kinds(afterEnd().commit([claim, broken]))).toEqual([[claimed], "failed"]);
  });

  it("of an ended process are claimed after a failed COMMIT", () => {
    const next = afterEnd();
    failNextCommit();
    expect(kinds(next.commit([claim]))).toEqual(["failed"]);
    expect(kinds(next.commit([claim]))).toEqual([[claimed]]);
    expect(kinds(next.commit([claim]))).toEqual([[]]);
  });

  it("of an evicted holder are reported as lost in the repeat, and once", () => {
    const shared = afterEviction();
    expect(kinds(shared.commit([own, broken]))).toEqual([false, "failed"]);
    expect(kinds(shared.commit([own]))).toEqual([true]);
  });

  it("of an evicted holder are reported as lost after a failed COMMIT, and once", () => {
    const shared = afterEviction();
    failNextCommit();
    expect(kinds(shared.commit([own]))).toEqual(["failed"]);
    expect(kinds(shared.commit([own, own]))).toEqual([false, true]);
    expect(kinds(shared.commit([own]))).toEqual([true]);
  });
});

describe("the counters", () => {
  it("agree with the tasks whatever happens", () => {
    const write = fc.record({
      task: fc.nat(8),
      owner: fc.constantFrom("x", "y"),
      state: fc.integer({ min: 1, max: 5 }),
      statusTime: fc.nat(9),
      broken: fc.boolean(),
    });
    let run = 0;
    const property = fc.property(fc.array(fc.array(write, { maxLength: 8 }), { maxLength: 8 }), (commits) => {
      const tenant = `run-${run++}`;
      for (const writes of commits) {
        committer.commit(
          writes.map(({ task, owner, state, statusTime, broken }) => {
            const taskId = `${tenant}-${owner}-${task}`;
            const position = db.values("SELECT position FROM head WHERE task_id = ?").get(taskId) as number;
            const time = broken && task === 0 ? Number.NaN : statusTime;
            const named = { ...OWNER, tenant, owner, taskId, state, statusTime: time };
            return append({ ...named, position: (position ?? 0) + 1 }, position ?? 0);
          }),
        );
        committer.commit([{ method: "removeFinished", request: { before: 3, limit: 2 } }]);
      }
      expect(counters().kept).toEqual(counters().counted);
    });
    fc.assert(property, { numRuns: 50 });
  });
});
