import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bytesOf, configOf, countTo, followRequest, leaseOf, OWNER, readAll } from "../../../contract/setup.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { migrate, SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.js";
import { openDatabase } from "../../support/database.js";
import { expectSoundFile } from "../../support/sound-file.js";
import { temporaryFile } from "./files.js";

/**
 * A file that the program of that version wrote: 40 tasks of one to five entries, every second one over, some that wait for
 * their client, some leased by a process that is gone, and one with a large entry, a snapshot and a remembered send.
 */
function versionSevenFile(): string {
  const path = temporaryFile();
  const fixture = fileURLToPath(new URL("./fixtures/version-7.db.gz", import.meta.url));
  writeFileSync(path, gunzipSync(readFileSync(fixture)));
  return path;
}

const taskIdOf = (index: number): string => `task-${String(index).padStart(2, "0")}`;
const entriesOf = (index: number): number => 1 + (index % 4) + (index % 2 === 1 || index % 3 === 0 ? 1 : 0);

describe("sqliteStore() with a file of version 7", () => {
  it("keeps everything that is in it, and goes on with it", async () => {
    const path = versionSevenFile();
    const store = sqliteStore(path);
    for (let index = 0; index < 40; index++) {
      expect(await readAll(store, taskIdOf(index))).toEqual(countTo(entriesOf(index)));
      const lease = (await store.head({ taskId: taskIdOf(index) }))?.lease;
      expect(lease).toEqual(index % 5 === 0 && index % 2 === 0 ? leaseOf() : null);
    }
    expect((await store.list({ ...OWNER, limit: 1 })).total).toBe(41);
    expect((await store.list({ ...OWNER, state: 3, limit: 1 })).total).toBe(20);
    expect(await store.listInterrupted({ before: 9_999, limit: 100 })).toHaveLength(7);
    const large = await store.load({ taskId: "large" });
    expect(large?.snapshot).toEqual({ position: 1, bytes: new Uint8Array(3_000).fill(3) });
    expect(await store.read({ taskId: "large", after: 0, limit: 1 })).toEqual([new Uint8Array(5_000).fill(7)]);
    expect(await store.findSend({ ...OWNER, key: "key" })).toMatchObject({ taskId: "large" });
    const claimed = await store.claimLeases({ holder: "me", leaseMs: 1_000, limit: 100 });
    expect(claimed).toHaveLength(4);
    expect(await store.removeFinished({ before: 9_999, limit: 100 })).toBe(20);
    await store.close();
    expect(expectSoundFile(path)).toBe(21);
  });

  it("delivers from then on, and keeps a task that is over until all is delivered", async () => {
    const path = versionSevenFile();
    const store = sqliteStore(path);
    const head = await store.head({ taskId: "task-02" });
    if (head === undefined) throw new Error("the task is gone");
    await store.putPushConfig(configOf({ taskId: "task-02", configId: "x" }));
    const request = followRequest(head, { state: 3, statusTime: 6_000 });
    expect(await store.append({ ...request, time: 6_000 })).toEqual({ pushed: true });
    expect(await store.removeFinished({ before: 9_999, limit: 100 })).toBe(20);
    const [one] = await store.claimDeliveries({ holder: "me", leaseMs: 1_000, now: 9_000, limit: 10 });
    expect(one).toMatchObject({ taskId: "task-02", configId: "x", position: head.position });
    const progress = { key: { taskId: "task-02", configId: "x" }, holder: "me", claim: one?.claim ?? 0 };
    const outcome = { kind: "done" } as const;
    expect(await store.completeDelivery({ ...progress, position: head.position + 1, outcome })).toBe("completed");
    expect(await store.removeFinished({ before: 9_999, limit: 100 })).toBe(1);
    await store.close();
  });

  it("keeps configurations, although no program of that version made any", async () => {
    const path = versionSevenFile();
    const before = openDatabase(path);
    const put = before.command("INSERT INTO push_config (task_id, config_id, position, bytes) VALUES (?, 'x', 1, ?)");
    for (const taskId of ["task-00", "task-01", "gone"]) put.run(taskId, bytesOf(taskId));
    expect(migrate(before)).toBe(7);
    before.close();
    const store = sqliteStore(path);
    for (const taskId of ["task-00", "task-01"]) {
      const config = { bytes: bytesOf(taskId), position: 1 };
      expect(await store.getPushConfig({ taskId, configId: "x" })).toEqual(config);
    }
    const { deliveries } = await store.listDeliveries({ owner: OWNER.owner, limit: 9 });
    expect(deliveries.map(({ taskId, owner }) => [taskId, owner])).toEqual([
      ["task-00", OWNER.owner],
      ["task-01", OWNER.owner],
    ]);
    expect(await store.getPushConfig({ taskId: "gone", configId: "x" })).toBeUndefined();
    // One of them counts: the task of the other is over.
    const request = { taskId: "task-02", configId: "x" };
    expect(await store.putPushConfig(configOf({ ...request, maxPerOwner: 1 }))).toBe("too-many-of-owner");
    expect(await store.putPushConfig(configOf({ ...request, maxPerOwner: 2 }))).toBe("put");
    await store.close();
    const after = openDatabase(path, { readonly: true });
    expect(after.pragma("user_version")).toBe(SCHEMA_VERSION);
    expect(after.values("SELECT task_id FROM head WHERE pushed = 1 ORDER BY 1").all()).toEqual([
      "task-00",
      "task-01",
      "task-02",
    ]);
    after.close();
  });
});
