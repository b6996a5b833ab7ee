import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { add } from "../../src/cli/operate/server.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { openWorld, tokens, type World } from "../admin/world.js";
import { type Ended, runGroup } from "./operate-run.js";

let folder: string;
let world: World;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "parley-operate-"));
  const log = () => {};
  const logger = { level: "info", debug: log, info: log, warn: log, error: log };
  world = await openWorld({ backupFolder: folder }, { store: sqliteStore(join(folder, "tasks.db")), logger });
});
afterAll(async () => {
  await world.server.close({ graceMs: 0 });
  rmSync(folder, { recursive: true });
});

const server = (...args: string[]): Promise<Ended> =>
  runGroup(add, "server", args, { env: { PARLEY_ADMIN: world.address, PARLEY_ADMIN_TOKEN: tokens.write } });

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await server(...args, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

describe("parley server", () => {
  it("shows the process, its executions and its limits", async () => {
    const { code, stdout: shown, stderr } = await server("show");
    expect([code, stderr]).toEqual([0, ""]);
    expect(shown).toMatch(/^Readiness {3}ready$/m);
    expect(shown).toMatch(/^Store {7}sqlite, [\d.]+ KiB$/m);
    expect(await json("show")).toMatchObject({ readiness: "ready", store: "sqlite", agents: [{ name: "operated" }] });
    expect(await server("executions")).toEqual({ code: 0, stdout: "", stderr: "parley: nothing runs or waits\n" });
    const body = {
      message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "wait operated" }] },
      configuration: { returnImmediately: true },
    };
    const headers = { "content-type": "application/json", "a2a-version": "1.0", "x-key": tokens.caller };
    await fetch(`${world.server.url}/message:send`, { method: "POST", headers, body: JSON.stringify(body) });
    expect((await server("executions")).stdout).toMatch(/^TASK +EXECUTION +FOR +STATE .*\n\S{36} +running +\d+s +/);
    expect(await json("executions")).toMatchObject({ executions: [{ running: true }] });
    expect((await server("limits")).stdout).toMatch(/^shutdownGraceMs +50 +\d+ +0$/m);
    expect((await server("limits")).stdout).toMatch(/^maxWaitingTurns +64 +64 +0$/m);
    expect(await json("limits")).toMatchObject({
      limits: expect.arrayContaining([expect.objectContaining({ name: "maxExecutions" })]),
    });
  });

  it("lists the latest audit records", async () => {
    await fetch(`${world.server.url}/tasks`, { headers: { "a2a-version": "1.0", "x-key": "wrong" } });
    const { code, stdout, stderr } = await server("audit", "--outcome", "denied", "--event", "authentication.failed");
    expect([code, stderr]).toEqual([0, ""]);
    const [titles = "", ...rows] = stdout.trimEnd().split("\n");
    expect(titles.split(/ +/).slice(0, 3)).toEqual(["TIME", "EVENT", "OUTCOME"]);
    expect(rows).toEqual([
      expect.stringMatching(/^20\S+Z +authentication\.failed +denied +127\.0\.0\.1 +ListTasks +refused/),
    ]);
    expect(await json("audit", "--limit", "1")).toMatchObject({ records: [{ event: "authentication.failed" }] });
    expect((await server("audit", "--limit", "1")).stderr).toContain("there are more");
    expect(await server("audit", "--owner", "nobody")).toMatchObject({ stderr: "parley: no record matches\n" });
    expect(await server("audit", "--outcome", "bad")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("success"),
    });
  });

  it("changes the level of the log, backs the store up, and drains", async () => {
    expect(await server("log-level", "debug")).toMatchObject({ code: 0, stdout: "debug, before: info\n" });
    expect(await json("log-level", "warn")).toEqual({ previous: "debug" });
    expect((await server("log-level", "loud")).code).toBe(2);
    const { code, stdout } = await server("backup", "copy.db");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/copy\.db: \d+ bytes, as of 20\S+Z\n$/)]);
    expect(readdirSync(folder)).toContain("copy.db");
    const began = Date.now();
    const other = await json("backup", "other.db");
    const path = join(folder, "other.db");
    expect(other).toMatchObject({ path, bytes: `${statSync(path).size}` });
    const time = Date.parse(`${other.time}`);
    expect(time).toBeGreaterThanOrEqual(began);
    expect(time).toBeLessThanOrEqual(Date.now());
    expect((await server("backup", "copy.db")).code).toBe(1);
    expect((await server("backup", "../x")).code).toBe(2);
    expect(await server("drain")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^draining, \d running\n$/) });
    expect(await json("drain")).toMatchObject({});
    expect((await server("show")).stdout).toMatch(/^Readiness {3}draining: The server refuses/m);
  });
});
