import { describe, expect, it } from "vitest";
import { countTo, OWNER, readAll } from "../../../src/store/contract/setup.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
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

describe("a process that is killed while it appends", () => {
  it.each(["FULL", "NORMAL"] as const)(
    "leaves everything that it acknowledged with %s, whole, five times over the same file",
    async (synchronous) => {
      const path = temporaryFile();
      const said: string[] = [];
      for (let life = 0; life < 5; life++) {
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
      expect(said.length).toBeGreaterThan(250);
    },
    60_000,
  );
});
