import { readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { configOf, create, follow } from "../../contract/setup.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { build } from "../e2e/support/build.js";
import { run, workplace } from "./cli.js";

vi.setConfig({ testTimeout: 60_000 });

build();
const { path: cwd, clean } = workplace();
afterAll(clean);

const path = join(cwd, "tasks.db");

/** Runs to the end: exit code, stdout and stderr. */
async function ended(...args: string[]): Promise<[unknown, string, string]> {
  const { exited, stdout, stderr } = run(["push", ...args], cwd);
  const code = await exited;
  return [code, stdout(), stderr()];
}

describe("parley push", () => {
  it("lists what was given up, and tries it again, in a file that a store has open", async () => {
    const store = sqliteStore(path);
    for (const taskId of ["a", "b"]) {
      const head = await create(store, { taskId });
      const target = "https://receiver.example:443";
      for (const configId of ["x", "y"]) await store.putPushConfig(configOf({ taskId, configId, target }, "secret"));
      await follow(store, head, {}, 3);
    }
    const claim = { holder: "me", leaseMs: 60_000, now: 9_999, limit: 100 };
    for (const { taskId, configId, position, claim: number } of await store.claimDeliveries(claim)) {
      const progress = { key: { taskId, configId }, holder: "me", claim: number, position };
      const outcome = { kind: "dead", at: Date.UTC(2026, 0, 2), failure: "the receiver\nanswered 500" } as const;
      await store.settleDelivery({ ...progress, outcome });
    }

    const [code, listed, said] = await ended("list", "--db", path);
    expect([code, said]).toEqual([0, ""]);
    expect(listed.trimEnd().split("\n")).toEqual(
      ["a  x", "a  y", "b  x", "b  y"].map(
        (key) => `2026-01-02T00:00:00.000Z  ${key}  https://receiver.example:443  3  the receiver\\u000aanswered 500`,
      ),
    );
    const [, json] = await ended("list", "--db", path, "--json", "--limit", "1", "--owner", "owner");
    expect(JSON.parse(json)).toEqual({
      ...{ taskId: "a", configId: "x", tenant: "tenant", owner: "owner", target: "https://receiver.example:443" },
      ...{ position: 1, headPosition: 4, failure: "the receiver\nanswered 500", givenUpAt: "2026-01-02T00:00:00.000Z" },
    });
    expect(await ended("list", "--db", path, "--tenant", "elsewhere")).toEqual([0, "", ""]);
    // The name that `parley serve` has for it.
    expect(await ended("list", "--store", path)).toEqual([0, listed, ""]);

    const [, , record] = await ended("redrive", "--db", path, "--task", "a", "--config", "y");
    const redriven = { event: "push.redriven", outcome: "success", reason: "command", subject: userInfo().username };
    expect(JSON.parse(record)).toEqual({ at: expect.any(String), ...redriven, target: "a/y", count: 1 });
    const audit = join(cwd, "audit.log");
    writeFileSync(audit, "what is there\n");
    expect(await ended("redrive", "--db", path, "--task", "a", "--audit", audit)).toEqual([0, "1\n", ""]);
    expect(await store.listDeadDeliveries({ limit: 9 })).toHaveLength(2);
    expect(await ended("redrive", "--db", path, "--task", "a", "--audit", audit)).toEqual([0, "0\n", ""]);
    const nowhere = await ended("redrive", "--db", path, "--all", "--audit", join(cwd, "no", "folder"));
    expect(nowhere).toEqual([2, "", expect.stringContaining("parley: --audit: cannot write")]);
    expect(await store.listDeadDeliveries({ limit: 9 })).toHaveLength(2);
    expect(await ended("redrive", "--db", path, "--all", "--audit", audit)).toEqual([0, "2\n", ""]);
    const [first, ...records] = readFileSync(audit, "utf8").trim().split("\n");
    expect(first).toBe("what is there");
    expect(records.map((line) => JSON.parse(line))).toEqual([
      { at: expect.any(String), ...redriven, target: "a", count: 1 },
      { at: expect.any(String), ...redriven, count: 2 },
    ]);
    expect(await store.claimDeliveries({ ...claim, now: Date.now() })).toHaveLength(4);
    await store.close();
  });

  it("counts each once when several redrive at the same time", async () => {
    const many = join(cwd, "many.db");
    const store = sqliteStore(many);
    const ids = Array.from({ length: 1_000 }, (_, i) => `task-${i}`);
    await Promise.all(
      ids.map(async (taskId) => {
        const head = await create(store, { taskId });
        await store.putPushConfig(
          configOf({ taskId, configId: "x", target: "https://receiver.example:443" }, "secret"),
        );
        await follow(store, head, {}, 2);
      }),
    );
    const claims = await store.claimDeliveries({ holder: "me", leaseMs: 60_000, now: 9_999, limit: 1_000 });
    const outcome = { kind: "dead", at: 1, failure: "it was gone" } as const;
    const given = claims.map(({ taskId, configId, position, claim }) =>
      store.settleDelivery({ key: { taskId, configId }, holder: "me", claim, position, outcome }),
    );
    await Promise.all(given);
    const ends = await Promise.all([1, 2, 3].map(() => ended("redrive", "--db", many, "--all", "--audit", "off")));
    expect(ends.map(([code, , said]) => [code, said])).toEqual(ends.map(() => [0, ""]));
    expect(ends.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(1_000);
    expect(await store.listDeadDeliveries({ limit: 1 })).toEqual([]);
    await store.close();
  });

  it("says in one line what is wrong", async () => {
    const [code, , said] = await ended("list", "--db", join(cwd, "nothing.db"));
    expect(code).toBe(2);
    expect(said).toMatch(/^parley: Cannot open .*nothing\.db: the file does not exist\.\n$/);
    for (const args of [[], ["--all", "--task", "a"], ["--all", "--config", "x"]]) {
      const [exitCode, out, error] = await ended("redrive", "--db", path, ...args);
      expect([exitCode, out]).toEqual([2, ""]);
      expect(error).toMatch(/^parley: .*--task.*\n$/);
    }
    const [, , none] = await ended("list");
    expect(none).toMatch(/^parley: Cannot open .*parley\.db: the file does not exist\.\n$/);
    expect((await ended("list", "--db", path, "--limit", "none"))[0]).toBe(2);
  });
});
