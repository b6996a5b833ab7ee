import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { countTo, create, readAll } from "../../../contract/setup.js";
import { APPLICATION_ID, openWriter } from "../../../src/store/sqlite/connection.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { migrate, SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.js";
import { StoreError } from "../../../src/store/task-store.js";
import { openDatabase } from "../../support/database.js";
import { contentsOf, temporaryDirectory, temporaryFile } from "./files.js";

/** Returns the error of opening a file. */
function refusalOf(path: string): StoreError {
  try {
    void sqliteStore(path).close();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error(`${path} was opened`);
}

/** A closed file with 200 tasks, about 100 KB. */
async function filled(): Promise<string> {
  const path = temporaryFile();
  const store = sqliteStore(path);
  await Promise.all(Array.from({ length: 200 }, (_, index) => create(store, { taskId: `task-${index}` }, 20)));
  await store.close();
  return path;
}

/** Copies a file with its log as a crash would leave them, into a directory of its own. */
function copyOfOpen(path: string): string {
  const copy = join(temporaryDirectory(), basename(path));
  for (const suffix of ["", "-wal"]) if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
  return copy;
}

describe("sqliteStore() and the place of its file", () => {
  it("creates the file", async () => {
    const path = temporaryFile();
    await sqliteStore(path).close();
    expect(Object.keys(contentsOf(dirname(path)))).toEqual(["tasks.db", "tasks.db-lock"]);
  });

  it("takes a file that is empty, or was abandoned before it had tables", async () => {
    const path = temporaryFile();
    writeFileSync(path, "");
    await sqliteStore(path).close();
    const abandoned = temporaryFile();
    const db = openDatabase(abandoned);
    db.pragma("journal_mode = WAL");
    db.close();
    const store = sqliteStore(abandoned);
    await create(store, { taskId: "a" });
    await store.close();
  });

  it("resolves a relative path once", async () => {
    const path = temporaryFile();
    const before = process.cwd();
    process.chdir(dirname(path));
    const store = sqliteStore("tasks.db");
    process.chdir(before);
    await create(store, { taskId: "a" });
    expect(await readAll(store, "a")).toEqual(["1"]);
    await store.close();
    expect(existsSync(path)).toBe(true);
  });

  it("takes any characters in a path", async () => {
    const path = join(temporaryDirectory(), "a b%20#?'é.db");
    await sqliteStore(path).close();
    expect(existsSync(path)).toBe(true);
  });

  it("says which directory is missing, and makes none", () => {
    const directory = join(temporaryDirectory(), "nowhere");
    const error = refusalOf(join(directory, "tasks.db"));
    expect(error).toMatchObject({ kind: "failed", message: expect.stringContaining(`${directory} does not exist`) });
    expect(existsSync(directory)).toBe(false);
  });

  it("refuses a directory, and no file at all", () => {
    expect(refusalOf(temporaryDirectory())).toMatchObject({ kind: "failed", message: /not a file/ });
    for (const path of ["", ":memory:"]) expect(refusalOf(path)).toMatchObject({ kind: "failed", message: /memory/ });
  });

  it("refuses options that it does not know, and values that they do not have", () => {
    const wrong = { path: "x.db", share: true, synchronous: "OFF", shared: "yes" } as never;
    expect(() => sqliteStore(wrong)).toThrow(
      'the option share is not known: did you mean shared?; synchronous is "OFF", not "FULL" or "NORMAL"; ' +
        'shared is "yes", not true or false',
    );
    expect(() => sqliteStore({ path: 7, stallMs: 0 } as never)).toThrow(
      "path is 7, not a text; stallMs is 0, not a whole number from 1 to 9007199254740991",
    );
    for (const none of [undefined, {}, null]) expect(() => sqliteStore(none as never)).toThrow("path is missing");
  });

  it("says that it may not write", async () => {
    const path = await filled();
    const readOnly = join(dirname(path), "read-only");
    mkdirSync(readOnly);
    chmodSync(dirname(path), 0o755);
    chmodSync(readOnly, 0o555);
    chmodSync(path, 0o444);
    const user = process.geteuid?.();
    // Root may write everywhere.
    if (user === 0) process.seteuid?.(65_534);
    try {
      for (const each of [path, join(readOnly, "tasks.db")]) {
        expect(refusalOf(each)).toMatchObject({
          kind: "failed",
          message: expect.stringContaining("may not be written"),
        });
      }
    } finally {
      if (user === 0) process.seteuid?.(0);
    }
  });
});

describe("sqliteStore() and a damaged file", () => {
  const damaged = { name: "StoreError", kind: "damaged" };

  it("refuses what is no database and leaves it as it is", () => {
    for (const content of ["hello", "x".repeat(5_000), "SQLite format 3\0", `SQLite format 3\0${"x".repeat(5_000)}`]) {
      const path = temporaryFile();
      writeFileSync(path, content);
      const error = refusalOf(path);
      expect(["damaged", "failed"]).toContain(error.kind);
      expect(readFileSync(path, "latin1")).toBe(content);
    }
  });

  it("refuses a file that was cut off, and leaves it as it is", async () => {
    const path = await filled();
    truncateSync(path, 20_000);
    const before = readFileSync(path);
    expect(refusalOf(path)).toMatchObject(damaged);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("refuses a file with a broken page wherever it is, and leaves it as it is", async () => {
    const sound = readFileSync(await filled());
    for (let page = 1; page < sound.length / 4096; page += 5) {
      const path = temporaryFile();
      const broken = Buffer.from(sound);
      broken.fill(0x5a, page * 4096, page * 4096 + 200);
      writeFileSync(path, broken);
      expect(refusalOf(path)).toMatchObject(damaged);
      expect(readFileSync(path).equals(broken)).toBe(true);
    }
  });

  it("says so when the damage shows only in use", async () => {
    const path = await filled();
    const db = openDatabase(path);
    db.command("UPDATE segment SET bytes = x'ff' WHERE task_id = 'task-7'").run();
    db.close();
    const store = sqliteStore(path);
    await expect(store.read({ taskId: "task-7", after: 0, limit: 10 })).rejects.toMatchObject(damaged);
    await expect(store.load({ taskId: "task-7" })).rejects.toMatchObject(damaged);
    expect(await readAll(store, "task-8")).toEqual(countTo(20));
    await store.close();
  }, 60_000);
});

describe("sqliteStore() and a file of another application", () => {
  for (const [name, id] of [
    ["without a mark", 0],
    ["with a mark of its own", 42],
  ] as const) {
    it(`refuses a database ${name} and leaves its directory as it is`, () => {
      const path = temporaryFile();
      const db = openDatabase(path);
      db.pragma("journal_mode = WAL");
      db.pragma(`application_id = ${id}`);
      db.exec("CREATE TABLE things (a); INSERT INTO things VALUES (1)");
      db.close();
      const before = contentsOf(dirname(path));
      expect(refusalOf(path)).toMatchObject({
        kind: "failed",
        message: expect.stringContaining("another application"),
      });
      expect(contentsOf(dirname(path))).toEqual(before);
    });
  }

  it("refuses one that is in use, and does not disturb its owner", () => {
    const path = temporaryFile();
    const db = openDatabase(path);
    db.pragma("journal_mode = WAL");
    db.exec("CREATE TABLE things (a); INSERT INTO things VALUES (1)");
    expect(refusalOf(path)).toMatchObject({ kind: "failed", message: expect.stringContaining("another application") });
    db.exec("INSERT INTO things VALUES (2)");
    expect(db.values("SELECT count(*) FROM things").get()).toBe(2);
    db.close();
  });
});

describe("sqliteStore() and a file of a newer version", () => {
  const newer = {
    kind: "newer-schema",
    message: expect.stringMatching(new RegExp(`version 99, .* up to ${SCHEMA_VERSION}`)),
  };

  it("refuses it, names both versions, and leaves its directory as it is", async () => {
    const path = await filled();
    const db = openDatabase(path);
    db.pragma("user_version = 99");
    db.close();
    const before = contentsOf(dirname(path));
    expect(refusalOf(path)).toMatchObject(newer);
    expect(contentsOf(dirname(path))).toEqual(before);
  });

  it("refuses it as well when only its log says so", async () => {
    const path = await filled();
    const db = openDatabase(path);
    db.pragma("user_version = 99");
    const copy = copyOfOpen(path);
    db.close();
    const before = readFileSync(copy);
    expect(refusalOf(copy)).toMatchObject(newer);
    expect(readFileSync(copy).equals(before)).toBe(true);
  });
});

describe("sqliteStore() after a crash", () => {
  it("finds what was only in the log", async () => {
    const path = temporaryFile();
    const store = sqliteStore(path);
    await create(store, { taskId: "a" }, 5);
    const copy = copyOfOpen(path);
    await store.close();
    const again = sqliteStore(copy);
    expect(await readAll(again, "a")).toEqual(countTo(5));
    expect((await again.list({ tenant: "tenant", owner: "owner", limit: 1 })).total).toBe(1);
    await again.close();
  });

  it("goes on when the log ends in the middle of a commit", async () => {
    const path = temporaryFile();
    const store = sqliteStore(path);
    await create(store, { taskId: "a" }, 5);
    await create(store, { taskId: "b" }, 5);
    const copy = copyOfOpen(path);
    await store.close();
    truncateSync(`${copy}-wal`, readFileSync(`${copy}-wal`).length - 100);
    const again = sqliteStore(copy);
    expect(await readAll(again, "a")).toEqual(countTo(5));
    expect(await readAll(again, "b")).toEqual([]);
    await create(again, { taskId: "b" }, 2);
    await again.close();
  });

  it("finishes what was killed while the file was created", () => {
    const path = temporaryFile();
    const db = openDatabase(path);
    migrate(db, 0);
    db.exec("BEGIN; CREATE TABLE half (a)");
    const copy = copyOfOpen(path);
    db.close();
    void sqliteStore(copy).close();
  });
});

it("syncs the log at each commit with FULL, and when it is moved into the file with NORMAL", async () => {
  const path = await filled();
  for (const [synchronous, level] of [
    ["FULL", 2],
    ["NORMAL", 1],
  ] as const) {
    const db = openWriter({ path, synchronous });
    expect(db.pragma("synchronous")).toBe(level);
    expect(db.pragma("journal_mode")).toBe("wal");
    db.close();
  }
});

it("marks its files so that other programs can tell them", async () => {
  const path = await filled();
  const header = readFileSync(path).subarray(0, 100);
  expect(header.readInt32BE(68)).toBe(APPLICATION_ID);
  expect(header.toString("latin1", 68, 72)).toBe("PARL");
});
