import { describe, expect, it } from "vitest";
import type { Database } from "../../../src/store/sqlite/driver/driver.js";
import { migrate } from "../../../src/store/sqlite/migrations.js";
import { listDeliveries } from "../../../src/store/sqlite/push-list.js";
import { openDatabase } from "../../support/database.js";

/** The steps of SQLite's plan for each statement of the lists. */
function plans(): string[][] {
  const db = openDatabase(":memory:");
  migrate(db);
  const statements: string[] = [];
  const noting: Database = Object.create(db, {
    rows: {
      value: (sql: string) => {
        statements.push(sql);
        return db.rows(sql);
      },
    },
  });
  for (const filter of [{}, { taskId: "t" }, { states: ["dead"] as const }, { target: "t" }, { owner: "o" }]) {
    listDeliveries(noting, { ...filter, limit: 1 });
  }
  return statements.map((sql) => {
    const values = Array.from(sql.matchAll(/\?/g), () => "");
    const steps = db.rows<[number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
    return steps.map(([, , , step]) => step);
  });
}

describe("listDeliveries()", () => {
  it("finds every page in an index, after the key of the last one, without sorting", () => {
    const found = plans();
    expect(found.map(([first]) => first)).toEqual([
      "SEARCH p USING INDEX push_config_by_id ((task_id,config_id)>(?,?))",
      "SEARCH p USING INDEX push_config_by_id (task_id=? AND config_id>?)",
      "SEARCH p USING INDEX push_dead ((task_id,config_id)>(?,?))",
      "SEARCH p USING INDEX push_of_target (target=? AND (task_id,config_id)>(?,?))",
      "SEARCH p USING INDEX push_of_owner (owner=? AND (task_id,config_id)>(?,?))",
    ]);
    for (const plan of found) expect(plan.join()).not.toContain("TEMP B-TREE");
  });
});
