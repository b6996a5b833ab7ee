import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { countTo, OWNER, readAll } from "../../../src/store/contract/setup.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { temporaryFile } from "./files.js";
import { startChild } from "./process.js";

/** The highest position that was acknowledged for each task. */
function acknowledged(lines: readonly string[]): Map<string, number> {
  const positions = new Map<string, number>();
  for (const line of lines) {
    const [taskId = "", position = ""] = line.split(" ");
    positions.set(taskId, Math.max(positions.get(taskId) ?? 0, Number(position)));
  }
  return positions;
}

describe("a process that is killed while it appends", () => {
  it("leaves everything that it acknowledged, whole, five times over the same file", async () => {
    const path = temporaryFile();
    const said: string[] = [];
    for (let life = 0; life < 5; life++) {
      const child = startChild("append for ever", path, `life-${life}`);
      await child.said(50 + life * 131);
      child.process.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      // The last line may have been cut off by the kill.
      said.push(...child.lines.filter((line) => /^\S+ \d+$/.test(line)));

      const store = sqliteStore(path);
      for (const [taskId, position] of acknowledged(said)) {
        const head = await store.head({ taskId });
        expect(head?.position).toBeGreaterThanOrEqual(position);
        expect(await readAll(store, taskId)).toEqual(countTo(head?.position ?? 0));
      }
      const { total } = await store.list({ ...OWNER, limit: 1 });
      expect(total).toBeGreaterThanOrEqual(acknowledged(said).size);
      await store.close();
      inspect(path, total);
    }
    expect(said.length).toBeGreaterThan(250);
  }, 60_000);
});

/** Head rows, segments and counters of a file agree with each other. */
function inspect(path: string, total: number): void {
  const db = new Database(path, { readonly: true });
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  expect(db.prepare("SELECT count(*) FROM head").pluck().get()).toBe(total);
  const stray = "SELECT count(*) FROM segment WHERE task_id NOT IN (SELECT task_id FROM head)";
  expect(db.prepare(stray).pluck().get()).toBe(0);
  const torn = `SELECT count(*) FROM head WHERE position <>
    (SELECT sum(count) FROM segment WHERE segment.task_id = head.task_id)`;
  expect(db.prepare(torn).pluck().get()).toBe(0);
  expect(db.prepare("SELECT state, tasks FROM counter WHERE tasks <> 0 ORDER BY 1").all()).toEqual(
    db.prepare("SELECT state, count(*) AS tasks FROM head GROUP BY 1 ORDER BY 1").all(),
  );
  db.close();
}
