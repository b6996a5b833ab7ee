import { describe, expect, it } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { startProgram } from "../store/sqlite/process.js";
import { seeded } from "../support/slow-store.js";
import { scaled } from "../support/soak.js";
import { expectSoundFile } from "../support/sound-file.js";

const TASKS = 6;
const CHANGES = 5;

/** Seed of the kills. `PARLEY_STORE_SEED` repeats those of a run. */
const seed = Number(process.env.PARLEY_STORE_SEED ?? Math.floor(Math.random() * 2 ** 32));
const kills = Number(process.env.PARLEY_KILLS ?? scaled(8, 25));

describe("a process that is killed in the middle of changes of a conversation's state", () => {
  it("leaves every change there once, with the event that it was stored with", {
    timeout: 60_000 + kills * 5_000,
  }, async ({ onTestFailed }) => {
    onTestFailed(() => void process.stderr.write(`PARLEY_STORE_SEED=${seed}\n`));
    const random = seeded(seed);
    for (let left = kills; left > 0; ) {
      const path = temporaryFile();
      let ended: unknown;
      for (let isLast = false; ended !== 0; isLast = left <= 0) {
        const append = isLast ? 0 : 1 + Math.floor(random() * 16);
        const child = startProgram(
          "conversation-child.js",
          path,
          `${TASKS}`,
          `${append}`,
          random() < 0.5 ? "before" : "after",
        );
        ended = await child.ended;
        expect([0, "SIGKILL"]).toContain(ended);
        if (ended === 0) expect(JSON.parse(child.lines[0] ?? "")).toEqual(Array(TASKS).fill("COMPLETED"));
        else left--;
      }
      const store = sqliteStore(path);
      const state = await store.conversation({ tenant: "", owner: "", contextId: "conversation" });
      const made: string[] = JSON.parse(new TextDecoder().decode(state?.bytes));
      const wanted = Array.from({ length: TASKS * CHANGES }, (_, at) => `${Math.floor(at / CHANGES)}.${at % CHANGES}`);
      expect(made.toSorted()).toEqual(wanted);
      // The changes of one task are in order.
      for (let task = 0; task < TASKS; task++) {
        const own = made.filter((each) => each.startsWith(`${task}.`));
        expect(own).toEqual(own.toSorted());
      }
      await store.close();
      expectSoundFile(path);
    }
  });
});
