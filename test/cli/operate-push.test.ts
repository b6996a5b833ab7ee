import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { configOf, create, follow } from "../../contract/setup.js";
import { add } from "../../src/cli/operate/push.js";
import type { Server, ServerOptions } from "../../src/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { openWorld, tokens } from "../admin/world.js";
import { accept, Receiver, refuse } from "../push/receiver.js";
import { type Ended, type Place, runGroup } from "./operate-run.js";

const push = (args: readonly string[], place: Place = {}): Promise<Ended> => runGroup(add, "push", args, place);

describe("parley push of a server", () => {
  let receiver: Receiver;
  let server: Server;
  let env: Record<string, string>;
  let task: string;
  beforeAll(async () => {
    receiver = await Receiver.start();
    const push = { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] };
    const opened = await openWorld({}, { push } as Partial<ServerOptions>);
    ({ server } = opened);
    env = { PARLEY_ADMIN: opened.address, PARLEY_ADMIN_TOKEN: tokens.write };
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "finish" }] };
    const taskPushNotificationConfig = { id: "hook", url: receiver.url("/secret-path") };
    const answer = await fetch(`${server.url}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", "x-key": tokens.caller },
      body: JSON.stringify({ message, configuration: { taskPushNotificationConfig } }),
    });
    task = ((await answer.json()) as { task: { id: string } }).task.id;
  });
  afterAll(async () => {
    await server.close({ graceMs: 0 });
    await receiver.stop();
  });

  it("lists deliveries, and sends test events and earlier ones", async () => {
    await expect.poll(async () => (await push(["list"], { env })).stdout).toContain("idle");
    const { stdout } = await push(["list", "--state", "idle", "--task", task], { env });
    expect(stdout.split("\n")[0]).toMatch(/^TASK +CONFIG +STATE +LEFT +TRIES +TARGET +FAILURE +AT +OWNER$/);
    expect(stdout.split("\n")[1]).toMatch(
      new RegExp(`^${task} +hook +idle +0 +0 +http://127.0.0.1:${receiver.port} .*alice$`),
    );
    expect(stdout).not.toContain("secret-path");
    const listed = await push(["list", "--json"], { env });
    expect(JSON.parse(listed.stdout)).toMatchObject({ deliveries: [{ taskId: task, state: "DELIVERY_STATE_IDLE" }] });
    expect(await push(["list", "--state", "dead"], { env })).toMatchObject({
      stderr: "parley: no push configuration matches\n",
    });
    expect((await push(["list", "--state", "lost"], { env })).code).toBe(2);

    const sent = await push(["test", task, "hook"], { env });
    expect([sent.code, sent.stderr]).toEqual([0, ""]);
    expect(sent.stdout).toMatch(/^TIME +GENERATION +STATUS +MS +RESULT +ANSWER\n\S+ +test +204 +\d+ +delivered/);
    const again = await push(["resend", task, "hook", "1", "--json"], { env });
    expect(JSON.parse(again.stdout)).toMatchObject({ attempt: { generation: 1, status: 204, byOperator: true } });
    receiver.answer = refuse(500);
    const refused = await push(["test", task, "hook"], { env });
    expect(refused).toMatchObject({ code: 1, stderr: "the receiver did not accept the event" });
    expect(refused.stdout).toContain("500");
    receiver.answer = accept;

    const shown = await push(["show", task, "hook"], { env });
    expect(shown.stdout).toMatch(/^State {6}idle$/m);
    expect(shown.stdout).toMatch(/ test +500 /);
    const { delivery, attempts } = JSON.parse((await push(["show", task, "hook", "--json"], { env })).stdout);
    expect(delivery).toMatchObject({ configId: "hook" });
    expect(attempts.length).toBeGreaterThanOrEqual(3);
    expect((await push(["show", task, "none"], { env })).code).toBe(1);
    expect((await push(["test", task, "none"], { env })).code).toBe(1);
    expect(await push(["redrive", "--all"], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes"),
    });
    expect(await push(["redrive", "--all", "--yes"], { env })).toEqual({ code: 0, stdout: "0\n", stderr: "" });
  });
});

describe("parley push of a file", () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "parley-operate-"));
    file = join(folder, "tasks.db");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("lists dead deliveries, and redrives one, those of a task, or all, with a record of each", async () => {
    const store = sqliteStore(file);
    const target = "https://receiver.example:443";
    for (const taskId of ["a", "b"]) {
      const head = await create(store, { taskId });
      for (const configId of ["x", "y"]) await store.putPushConfig(configOf({ taskId, configId, target }, "secret"));
      await follow(store, head, {}, 3);
    }
    const claim = { holder: "me", leaseMs: 60_000, now: 9_999, limit: 100 };
    for (const { taskId, configId, position, claim: number } of await store.claimDeliveries(claim)) {
      const progress = { key: { taskId, configId }, holder: "me", claim: number, position };
      const outcome = { kind: "dead", at: Date.UTC(2026, 0, 2), failure: "the receiver\nanswered 500" } as const;
      await store.completeDelivery({ ...progress, outcome });
    }
    await store.close();

    const listed = await push(["list", "--store", file, "--state", "dead"]);
    expect(listed.stdout.split("\n")[1]?.split(/ {2,}/)).toEqual([
      "a",
      "x",
      "dead",
      "3",
      "0",
      target,
      "the receiver\\u000aanswered 500",
      "2026-01-02T00:00:00.000Z",
      "owner",
    ]);
    const audit = join(folder, "audit.log");
    const redrive = (...args: string[]): Promise<Ended> =>
      push(["redrive", "--store", file, "--audit", audit, ...args]);
    expect(await redrive("--task", "a", "--config", "y")).toEqual({ code: 0, stdout: "1\n", stderr: "" });
    expect((await redrive("--task", "a")).stdout).toBe("1\n");
    expect((await redrive("--task", "a")).stdout).toBe("0\n");
    for (const unknown of [["b", "--config", "nope"], ["nope"], ["nope", "--config", "x"]]) {
      const stderr = expect.stringContaining("the task does not exist or has no push configuration");
      expect(await redrive("--task", ...unknown)).toMatchObject({ code: 1, stdout: "", stderr });
    }
    expect((await redrive("--all", "--owner", "nobody", "--yes", "--json")).stdout).toBe("{}\n");
    expect((await redrive("--all", "--yes", "--json")).stdout).toBe('{"count":"2"}\n');
    const records = readFileSync(audit, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records.filter(({ event }) => event === "push.redriven").map(({ count }) => count)).toEqual([1, 1, 2]);
    expect(records.filter(({ event }) => event === "admin.write")).toHaveLength(5);
    for (const args of [[], ["--all", "--task", "a"], ["--all", "--config", "x"], ["--task", "a", "--owner", "o"]]) {
      expect(await redrive(...args)).toMatchObject({ code: 2, stdout: "" });
    }
    expect((await push(["test", "a", "x", "--store", file])).code).toBe(2);
  });

  it("brings the next attempt of a named delivery to now", async () => {
    const store = sqliteStore(file);
    const head = await create(store, { taskId: "a" });
    await store.putPushConfig(configOf({ taskId: "a", configId: "x" }));
    await follow(store, head);
    const claim = { holder: "me", leaseMs: 60_000, now: 9_999, limit: 1 };
    const [{ position, claim: number } = { position: 0, claim: 0 }] = await store.claimDeliveries(claim);
    const at = Date.now() + 3_600_000;
    const outcome = { kind: "retry", at, failure: "refused", failingSince: 1 } as const;
    const key = { taskId: "a", configId: "x" };
    await store.completeDelivery({ key, holder: "me", claim: number, position, outcome });
    await store.close();
    expect((await push(["redrive", "--store", file, "--all", "--yes"])).stdout).toBe("0\n");
    expect((await push(["redrive", "--store", file, "--task", "a", "--config", "x"])).stdout).toBe("1\n");
    const listed = await push(["list", "--store", file, "--json"]);
    expect(Date.parse(JSON.parse(listed.stdout).deliveries[0].at)).toBeLessThan(at);
  });
});
