import { mkdtempSync, readdirSync, rmdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { migrate, SCHEMA_VERSION } from "../../src/store/sqlite/migrations.js";
import { openDatabase } from "../support/database.js";
import { expectSoundFile } from "../support/sound-file.js";
import { Home, type ServerProcess, within } from "./support/server-process.js";

let home: Home;

beforeEach(() => {
  home = new Home();
});

afterEach(() => home.leave());

const shell = (script: string): string[] => ["sh", "-c", `${script}; exec "$@"`, "sh"];

async function send({ url }: ServerProcess): Promise<number> {
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "echo hello" }] };
  const headers = { "content-type": "application/json" };
  return (await fetch(`${url}/message:send`, { method: "POST", headers, body: JSON.stringify({ message }) })).status;
}

/** Starts a server that refuses to run. Returns its exit code and its line of explanation. */
async function refusal(): Promise<[code: number | null, line: string]> {
  const server = home.launch();
  const { code } = await within(30_000, server.exited, () => server.log);
  return [code, server.log];
}

describe.skipIf(process.platform === "win32")("the first start of a server", { timeout: 120_000 }, () => {
  it("makes files that their owner alone can read, whatever the umask", async () => {
    home.under = shell("umask 0");
    const server = await home.start();
    expect(await send(server)).toBe(200);
    const folder = dirname(home.store);
    const names = readdirSync(folder);
    expect(names).toEqual(expect.arrayContaining(["tasks.db", "tasks.db-lock", "tasks.db-shm", "tasks.db-wal"]));
    for (const name of names) expect((statSync(join(folder, name)).mode & 0o777).toString(8), name).toBe("600");
  });

  it("says that too few files may be open", async () => {
    home.under = shell("ulimit -n 64");
    expect(await refusal()).toEqual([2, expect.stringMatching(/^parley: the limit of open files is too low.*\n$/)]);
  });

  it("ends with the code for a restart where its working folder was deleted before the first write", async () => {
    const folder = mkdtempSync(join(tmpdir(), "parley-gone-"));
    home.under = shell(`cd '${folder}'`);
    const server = await home.start("--store-recovery", "200ms");
    rmdirSync(folder);
    expect(await send(server)).toBe(503);
    expect(await within(30_000, server.exited, () => server.log)).toEqual({ code: 75, signal: null });
    expect(server.log).toContain("The working folder of this process was deleted.");
  });
});

describe("a server with a file of another version", { timeout: 120_000 }, () => {
  it("refuses a newer one, and says so in one line", async () => {
    const db = openDatabase(home.store);
    migrate(db);
    db.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    db.close();
    const versions = `version ${SCHEMA_VERSION + 1}, and this program knows versions up to ${SCHEMA_VERSION}`;
    expect(await refusal()).toEqual([2, expect.stringMatching(new RegExp(`^parley: .*${versions}.*\n$`))]);
  });

  it.each(["SIGTERM", "SIGKILL"] as const)("loses nothing to %s in the middle of a migration", async (signal) => {
    const tasks = 60_000;
    const db = openDatabase(home.store);
    db.pragma("journal_mode = WAL");
    migrate(db, 2);
    const head = db.command("INSERT INTO head VALUES (?, '', '', ?, 3, 1, 1, 1, 1, NULL, NULL, NULL, NULL)");
    // A minimal entry at position 1 that creates a task, sufficient for a migration.
    const entry = Uint8Array.of(4, 8, 1, 42, 0);
    const segment = db.command("INSERT INTO segment VALUES (?, 1, 1, ?)");
    db.exec("BEGIN");
    for (let index = 0; index < tasks; index++) {
      const taskId = String(index).padStart(8, "0");
      head.run(taskId, `context-${index % 100}`);
      segment.run(taskId, entry);
    }
    db.exec(`INSERT INTO counter VALUES ('', '', 3, ${tasks}); COMMIT`);
    db.close();
    const seen = new Set<unknown>();
    // A migration writes to the log as it proceeds. Each attempt gets a little further.
    for (let bytes = 100_000; bytes < 20_000_000; bytes *= 3) {
      const server = home.launch();
      while ((statSync(`${home.store}-wal`, { throwIfNoEntry: false })?.size ?? 0) < bytes) {
        if (await Promise.race([server.exited, new Promise((resolve) => setTimeout(resolve, 1))])) break;
        if (server.log.includes("created the file") || server.log.includes("brought the store")) break;
      }
      server.signal(signal);
      await server.exited;
      const looked = openDatabase(home.store);
      seen.add(looked.pragma("user_version"));
      looked.close();
    }
    expect(seen.size, [...seen].join()).toBeGreaterThan(1);
    const server = await home.start();
    expect(await send(server)).toBe(200);
    expect(await server.stop()).toMatchObject({ code: 0 });
    expect(expectSoundFile(home.store)).toBe(tasks + 1);
  });
});
