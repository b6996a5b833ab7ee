import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { immediate } from "../../../../src/store/sqlite/connection.js";
import { noSqlite, sqliteDriver, useDriver } from "../../../../src/store/sqlite/driver/choose.js";
import { codeOf } from "../../../../src/store/sqlite/driver/codes.js";
import { openDatabase } from "../../../support/database.js";
import { temporaryDirectory, temporaryFile } from "../files.js";

/** The name of what a call throws. */
function codeThrown(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return codeOf(error);
  }
  return "nothing";
}

describe("sqliteDriver()", () => {
  it("is SQLite as Node.js has it where it has one, unless another one is asked for", () => {
    const asked = process.env.PARLEY_SQLITE_DRIVER;
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    const own = major > 22 || (major === 22 && minor >= 13);
    expect(sqliteDriver().name).toBe(asked || (own ? "node:sqlite" : "@photostructure/sqlite"));
    expect(sqliteDriver().version).toMatch(/^3\.\d+\.\d+$/);
  });

  it("is one for a process: two copies of SQLite would drop each other's locks", () => {
    const { name } = sqliteDriver();
    useDriver(name);
    const other = name === "node:sqlite" ? "@photostructure/sqlite" : "node:sqlite";
    expect(() => useDriver(other)).toThrow(`SQLite comes from ${name} in this process`);
  });

  it("says nothing on stderr, and lets every other warning through", () => {
    const url = JSON.stringify(new URL("../../../../src/store/sqlite/driver/choose.ts", import.meta.url).href);
    const script = `
      const { sqliteDriver } = await import(${url});
      sqliteDriver();
      process.emitWarning("another one", "ExperimentalWarning");`;
    const { stderr } = spawnSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
      encoding: "utf8",
    });
    expect(stderr).toContain("ExperimentalWarning: another one");
    expect(stderr).not.toContain("SQLite");
  });

  it("says in one line which command helps where there is none", () => {
    const absent = Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
    expect(noSqlite(absent, "20.19.0").message).toMatch(
      /Node\.js 20\.19\.0 .*`npm install @photostructure\/sqlite@1`.* 22\.13/,
    );
    expect(noSqlite(new Error("No native build was found"), "20.19.0").message).toMatch(/no binary .* 22\.13/);
    expect(noSqlite(absent).message).not.toContain("\n");
  });
});

describe("Driver.open()", () => {
  it("gives values back as they were stored", () => {
    const db = openDatabase(":memory:");
    db.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, r REAL, s TEXT, b BLOB NOT NULL) STRICT");
    const add = db.command("INSERT INTO t (n, r, s, b) VALUES (?, ?, ?, ?)");
    const all = db.rows<unknown[]>("SELECT n, r, s, b FROM t");
    const large = 2 ** 53 - 1;
    expect(add.run(large, 0.5, "ä\u{1f600}", new Uint8Array([0, 255]))).toMatchObject({ changes: 1 });
    // A view of something larger, and one of nothing.
    expect(add.run(-large, 1e300, "", Buffer.from("abcdef").subarray(2, 4)).lastInsertRowid).toBe(2);
    add.run(null, null, null, new Uint8Array(0));
    const rows = all.all().map(([n, r, s, b]) => [n, r, s, [...(b as Uint8Array)]]);
    expect(rows).toEqual([
      [large, 0.5, "ä\u{1f600}", [0, 255]],
      [-large, 1e300, "", [99, 100]],
      [null, null, null, []],
    ]);
    expect(all.get()?.[3]).toBeInstanceOf(Uint8Array);
    expect(db.values<number>("SELECT n FROM t WHERE id = ?").get(1)).toBe(large);
    expect(db.values("SELECT n FROM t WHERE id = 9").get()).toBeUndefined();
    expect(db.values("SELECT id FROM t WHERE id < ? ORDER BY id").all(3)).toEqual([1, 2]);
    expect(db.command("UPDATE t SET n = 1 WHERE id > ?").run(1).changes).toBe(2);
    db.close();
  });

  it("gives text with a NUL back whole, or refuses it where Node.js would cut it off", () => {
    const db = openDatabase(":memory:");
    db.exec("CREATE TABLE t (s TEXT)");
    const add = db.command("INSERT INTO t VALUES (?)");
    let kept: string[] = ["a\0b"];
    try {
      add.run("a\0b");
    } catch (error) {
      expect(String(error)).toContain("NUL character");
      kept = [];
    }
    expect(db.values("SELECT s FROM t").all()).toEqual(kept);
    add.run("a");
    expect(db.values("SELECT s FROM t WHERE s = ?").all("a\0b")).toEqual(kept);
    expect(db.values("SELECT count(*) FROM t WHERE s = ?").get("a\0b")).toBe(kept.length);
    expect([...db.values("SELECT s FROM t WHERE s = ?").iterate("a")]).toEqual(["a"]);
    db.close();
  });

  it("leaves a loop over rows without holding anything", () => {
    const path = temporaryFile();
    const db = openDatabase(path);
    db.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)");
    const rows = db.rows<[number]>("SELECT a FROM t WHERE a >= ? ORDER BY a");
    for (const [a] of rows.iterate(1)) if (a === 2) break;
    expect([...rows.iterate(2)]).toEqual([[2], [3]]);
    expect([...db.values<number>("SELECT a FROM t ORDER BY a").iterate()]).toEqual([1, 2, 3]);
    // A reader that still read would keep the other one from writing here.
    const other = openDatabase(path, { timeoutMs: 0 });
    other.exec("BEGIN EXCLUSIVE; ROLLBACK");
    other.close();
    db.close();
  });

  it("does all of a transaction or nothing", () => {
    const db = openDatabase(":memory:");
    db.exec("CREATE TABLE t (a)");
    const add = db.command("INSERT INTO t VALUES (?)");
    expect(() =>
      immediate(db, () => {
        add.run(1);
        expect(db.inTransaction).toBe(true);
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(db.inTransaction).toBe(false);
    expect(immediate(db, () => add.run(2).changes)).toBe(1);
    expect(db.values("SELECT a FROM t").all()).toEqual([2]);
    db.close();
  });

  it("reads and writes pragmas", () => {
    const db = openDatabase(temporaryFile());
    expect(db.pragma("journal_mode = WAL")).toBe("wal");
    db.pragma("user_version = 7");
    expect(db.pragma("user_version")).toBe(7);
    expect(db.pragma("quick_check(1)")).toBe("ok");
    db.close();
  });

  it("names SQLite's errors", () => {
    const path = temporaryFile();
    const [one, other] = [openDatabase(path), openDatabase(path, { timeoutMs: 0 })];
    one.exec("CREATE TABLE t (a INTEGER PRIMARY KEY, b NOT NULL)");
    one.exec("BEGIN IMMEDIATE");
    expect(codeThrown(() => other.exec("BEGIN IMMEDIATE"))).toBe("SQLITE_BUSY");
    one.exec("INSERT INTO t VALUES (1, 1)");
    expect(codeThrown(() => one.exec("INSERT INTO t VALUES (1, 1)"))).toBe("SQLITE_CONSTRAINT_PRIMARYKEY");
    expect(codeThrown(() => one.exec("INSERT INTO t VALUES (2, NULL)"))).toBe("SQLITE_CONSTRAINT_NOTNULL");
    one.exec("COMMIT");
    expect(codeThrown(() => one.command("nonsense"))).toBe("SQLITE_ERROR");
    expect(codeThrown(() => openDatabase(path, { readonly: true }).exec("DELETE FROM t"))).toBe("SQLITE_READONLY");
    one.pragma(`max_page_count = ${one.pragma("page_count")}`);
    expect(codeThrown(() => one.exec("INSERT INTO t VALUES (3, zeroblob(100000))"))).toBe("SQLITE_FULL");
    other.close();
    one.close();
  });

  it("creates no file that has to be there", () => {
    const path = join(temporaryDirectory(), "a b%20#?'é.db");
    for (const options of [{ readonly: true }, { mustExist: true }]) {
      expect(codeThrown(() => openDatabase(path, options))).toBe("SQLITE_CANTOPEN");
    }
    expect(existsSync(path)).toBe(false);
    openDatabase(path).exec("CREATE TABLE t (a)");
    expect(openDatabase(path, { mustExist: true }).values("SELECT count(*) FROM t").get()).toBe(0);
  });

  it("leaves nothing beside a closed file, whatever statements there are", () => {
    const path = temporaryFile();
    const db = openDatabase(path);
    db.pragma("journal_mode = WAL");
    db.exec("CREATE TABLE t (a)");
    const add = db.command("INSERT INTO t VALUES (?)");
    const all = db.values<number>("SELECT a FROM t");
    add.run(1);
    const reader = openDatabase(path, { readonly: true });
    const read = reader.rows<[number]>("SELECT a FROM t");
    expect(read.all()).toEqual([[1]]);
    db.exec("BEGIN");
    add.run(2);
    expect(all.all()).toEqual([1, 2]);
    reader.close();
    expect(existsSync(`${path}-wal`)).toBe(true);
    db.close();
    expect([existsSync(`${path}-wal`), existsSync(`${path}-shm`)]).toEqual([false, false]);
    for (const use of [() => add.run(3), () => all.all(), () => read.get()]) expect(use).toThrow();
    const next = openDatabase(path, { timeoutMs: 0 });
    next.exec("BEGIN EXCLUSIVE");
    expect(next.values("SELECT a FROM t").all()).toEqual([1]);
    next.close();
  });

  it("is closed once", () => {
    const db = openDatabase(":memory:");
    expect(db.isOpen).toBe(true);
    db.close();
    db.close();
    expect(db.isOpen).toBe(false);
    expect(() => db.exec("SELECT 1")).toThrow();
  });
});

describe("codeOf()", () => {
  it("gives SQLite's names to the numbers of node:sqlite", () => {
    const numbered = (errcode: number): Error =>
      Object.assign(new Error("what happened"), { code: "ERR_SQLITE_ERROR", errcode });
    const names = {
      5: "SQLITE_BUSY",
      8: "SQLITE_READONLY",
      11: "SQLITE_CORRUPT",
      13: "SQLITE_FULL",
      14: "SQLITE_CANTOPEN",
      26: "SQLITE_NOTADB",
      522: "SQLITE_IOERR_SHORT_READ",
      1034: "SQLITE_IOERR_FSYNC",
      1299: "SQLITE_CONSTRAINT_NOTNULL",
      1288: "SQLITE_READONLY_CANTINIT",
      8458: "SQLITE_IOERR_CORRUPTFS",
      779: "SQLITE_CORRUPT_INDEX",
      101: "SQLITE_101",
    };
    for (const [number, name] of Object.entries(names)) expect(codeOf(numbered(Number(number)))).toBe(name);
  });
});
