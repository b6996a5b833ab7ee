import { describe, expect, it } from "vitest";
import { type DatabaseSync, NodeDatabase } from "../../../../src/store/sqlite/driver/node.js";

/** `node:sqlite` from Node.js 24.10. */
interface Authorized extends DatabaseSync {
  setAuthorizer?(authorize: () => number): void;
}

const sqlite = process.getBuiltinModule?.("node:sqlite") as { DatabaseSync: new (path: string) => Authorized };
const canCount = sqlite?.DatabaseSync.prototype.setAuthorizer !== undefined;

/** SQLite asks the authorizer only while it compiles a statement. */
function openCounted(): { readonly db: NodeDatabase; readonly asked: () => number } {
  const connection = new sqlite.DatabaseSync(":memory:");
  connection.exec("CREATE TABLE a (x TEXT, y INTEGER, PRIMARY KEY (x, y)) STRICT, WITHOUT ROWID");
  connection.exec("CREATE TABLE b (id INTEGER PRIMARY KEY, x TEXT) STRICT; INSERT INTO a VALUES ('k', 1), ('k', 2)");
  let count = 0;
  connection.setAuthorizer?.(() => {
    count++;
    return 0;
  });
  return { db: new NodeDatabase(connection), asked: () => count };
}

describe.runIf(canCount)("NodeDatabase.rows()", () => {
  it.each([
    "SELECT y FROM a WHERE x = ? AND y > ? ORDER BY y",
    "SELECT y FROM a WHERE x = ?1 AND y > ?2 ORDER BY y LIMIT ?2 + 2",
    "SELECT a.y FROM a LEFT JOIN b ON b.id = a.y WHERE a.x = ? AND a.y > ?",
  ])("compiles once: %s", (sql) => {
    const { db, asked } = openCounted();
    const rows = db.rows<[number]>(sql);
    const compiled = asked();
    expect(compiled).toBeGreaterThan(0);
    expect(rows.all("k", 0)).toEqual([[1], [2]]);
    expect(rows.all("k", 1)).toEqual([[2]]);
    expect(asked()).toBe(compiled);
    db.close();
  });
});
