import { existsSync, statSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { bytesOf, OWNER } from "../../../contract/setup.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { migrate, SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.js";
import { openPushMaintenance, type PushMaintenance } from "../../../src/store/sqlite/push-maintenance.js";
import { openDatabase } from "../../support/database.js";
import { expectSoundFile } from "../../support/sound-file.js";
import { temporaryFile } from "./files.js";
import { type Child, startChild } from "./process.js";

const children: Child[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.process.kill("SIGKILL");
    await child.ended;
  }
});

/** A process that has a file alone, in which three tasks have two configurations each that were given up. */
async function serving(): Promise<{ path: string; child: Child }> {
  const path = temporaryFile();
  const child = startChild("give up and look", path);
  children.push(child);
  await child.said(1);
  return { path, child };
}

const keysOf = (file: PushMaintenance): string[] =>
  file.listDead({ limit: 100 }).map(({ taskId, configId }) => `${taskId} ${configId}`);

describe("openPushMaintenance()", { timeout: 60_000 }, () => {
  it("tells what was given up, of a file that another process has alone", async () => {
    const { path } = await serving();
    // A store is kept out.
    expect(() => sqliteStore(path)).toThrow("has it open");
    const file = openPushMaintenance(path);
    expect(keysOf(file)).toEqual(["a x", "a y", "b x", "b y", "c x", "c y"]);
    expect(file.listDead({ limit: 1, after: { taskId: "a", configId: "y" }, ...OWNER })).toEqual([
      {
        ...{ taskId: "b", configId: "x", ...OWNER, target: "target", bytes: bytesOf("config"), position: 1 },
        ...{ headPosition: 2, failure: "refused", failingSince: undefined, at: 5_000 },
      },
    ]);
    expect(file.listDead({ limit: 10, owner: "somebody else" })).toEqual([]);
    file.close();
  });

  it("makes it due again, and the other process finds it", async () => {
    const { path, child } = await serving();
    const file = openPushMaintenance(path);
    const keys = [
      { taskId: "b", configId: "y" },
      { taskId: "unknown", configId: "x" },
    ];
    expect(await file.redrive({ now: 6_000, keys })).toBe(1);
    await child.said(2);
    expect(child.lines).toEqual(["given up", "b y"]);
    expect(keysOf(file)).toEqual(["a x", "a y", "b x", "c x", "c y"]);
    expect(await file.redrive({ now: 6_000 })).toBe(5);
    await child.said(7);
    expect(child.lines.slice(2).sort()).toEqual(["a x", "a y", "b x", "c x", "c y"]);
    expect(keysOf(file)).toEqual([]);
    file.close();
    child.process.kill("SIGKILL");
    await child.ended;
    expectSoundFile(path);
  });

  it("opens no file that is not there, of another application, or of another version, and changes none", async () => {
    const missing = temporaryFile();
    expect(() => openPushMaintenance(missing)).toThrow(/the file does not exist/);
    expect(existsSync(missing)).toBe(false);

    const foreign = temporaryFile();
    const other = openDatabase(foreign);
    other.exec("CREATE TABLE theirs (x)");
    other.close();
    const size = statSync(foreign).size;
    expect(() => openPushMaintenance(foreign)).toThrow(/not a Parley database/);
    expect(statSync(foreign).size).toBe(size);

    const path = temporaryFile();
    const db = openDatabase(path);
    db.pragma("journal_mode = WAL");
    migrate(db, SCHEMA_VERSION - 1);
    expect(() => openPushMaintenance(path)).toThrow(/Start a server of this version/);
    expect(db.pragma("user_version")).toBe(SCHEMA_VERSION - 1);
    migrate(db);
    const file = openPushMaintenance(path);
    // A newer server brings it to the next version meanwhile.
    db.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    const keys = [{ taskId: "a", configId: "x" }];
    await expect(file.redrive({ now: 1, keys })).rejects.toMatchObject({ kind: "newer-schema" });
    file.close();
    expect(() => openPushMaintenance(path)).toThrow(/newer program/);
    db.close();
  });
});
