import { describe, expect, it } from "vitest";
import { countTo, create, OWNER, readAll } from "../../../contract/setup.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import type { HeadsRequest, TaskStore } from "../../../src/store/task-store.js";
import { scaled } from "../../support/soak.js";
import { expectSoundFile } from "../../support/sound-file.js";
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

/** Processes that are killed over the same file. */
const LIVES = scaled(2, 5);

describe("a process that is killed while it appends", () => {
  it.each(["FULL", "NORMAL"] as const)(
    "leaves everything that it acknowledged with %s, whole, again and again over the same file",
    async (synchronous) => {
      const path = temporaryFile();
      const said: string[] = [];
      for (let life = 0; life < LIVES; life++) {
        const child = startChild("append for ever", path, `life-${life}`, synchronous);
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
        expect(expectSoundFile(path)).toBe(total);
      }
      expect(said.length).toBeGreaterThan(50 * LIVES);
    },
    60_000,
  );
});

describe("a process that is killed while it delivers", () => {
  it("leaves due whatever is not known to be delivered, and nothing held, again and again over the same file", async () => {
    const path = temporaryFile();
    const appended: string[] = [];
    const delivered: string[] = [];
    for (let life = 0; life < LIVES; life++) {
      const child = startChild("deliver for ever", path, `life-${life}`);
      await child.said(60 + life * 131);
      child.process.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      for (const line of child.lines) {
        const [, what, rest = ""] = /^(appended|delivered) (\S+ \d+)$/.exec(line) ?? [];
        if (what !== undefined) (what === "appended" ? appended : delivered).push(rest);
      }

      const store = sqliteStore(path);
      const claim = { holder: "next", leaseMs: 60_000, now: Number.MAX_SAFE_INTEGER, limit: 100_000 };
      const claimed = await store.claimDeliveries(claim);
      const due = new Set(claimed.map(({ taskId, configId }) => `${taskId} ${configId}`));
      for (const { taskId, configId } of await store.listDeadDeliveries({ limit: 100_000 })) {
        due.add(`${taskId} ${configId}`);
      }
      const deliveredTo = acknowledged(delivered);
      for (const [taskId, position] of acknowledged(appended)) {
        const config = await store.getPushConfig({ taskId, configId: "x" });
        const head = await store.head({ taskId });
        expect(head?.position).toBeGreaterThanOrEqual(position);
        expect(config?.position).toBeGreaterThanOrEqual(deliveredTo.get(taskId) ?? 0);
        if ((config?.position ?? 0) < (head?.position ?? 0)) expect(due).toContain(`${taskId} x`);
      }
      await store.close();
      expectSoundFile(path);
    }
    expect(appended.length).toBeGreaterThan(20 * LIVES);
    expect(delivered.length).toBeGreaterThan(10 * LIVES);
  }, 60_000);
});

/** Number of an owner's stored tasks. Fails if one of them is incomplete. */
async function wholeTasksOf(store: TaskStore, owner: string): Promise<number> {
  let count = 0;
  for (let after: HeadsRequest["after"]; ; ) {
    const { heads, next } = await store.listHeads({ owner, after, limit: 100 });
    for (const head of heads) expect(await readAll(store, head.taskId)).toEqual(countTo(head.position));
    count += heads.length;
    if (next === undefined) return count;
    after = next;
  }
}

describe("a process that is killed while it deletes an owner", () => {
  it("leaves each task whole or gone, and a repetition deletes the rest and nothing of others", async () => {
    const path = temporaryFile();
    const store = sqliteStore({ path, synchronous: "NORMAL" });
    const make = async (owner: string, index: number): Promise<void> => {
      const position = index % 20 === 0 ? 1_000 : 2;
      await create(
        store,
        { taskId: `${owner}-${index}`, owner, contextId: `${owner}-${index % 50}`, state: 3 },
        position,
      );
    };
    await Promise.all(Array.from({ length: 3_000 }, (_, index) => make("gone", index)));
    await Promise.all(Array.from({ length: 50 }, (_, index) => make("kept", index)));
    await store.close();
    const counts: number[] = [];
    for (const commits of [1, 2, 3]) {
      const child = startChild("delete an owner", path);
      await child.said(commits);
      child.process.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      const opened = sqliteStore(path);
      counts.push(await wholeTasksOf(opened, "gone"));
      expect(await wholeTasksOf(opened, "kept")).toBe(50);
      await opened.close();
    }
    // The kills interrupted the work.
    expect(counts[0]).toBeLessThan(3_000);
    expect(counts[2]).toBeGreaterThan(0);
    const last = startChild("delete an owner", path);
    expect(await last.ended).toBe(0);
    expect(last.lines.at(-1)).toBe(`deleted ${counts[2]}`);
    const opened = sqliteStore(path);
    expect(await wholeTasksOf(opened, "gone")).toBe(0);
    expect((await opened.listOwners({ limit: 10 })).map(({ owner, tasks }) => [owner, tasks])).toEqual([["kept", 50]]);
    await opened.close();
    expect(expectSoundFile(path)).toBe(50);
  }, 60_000);
});
