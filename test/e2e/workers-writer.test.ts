import { renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { scaled } from "../support/soak.js";
import { expectSoundFile } from "../support/sound-file.js";
import { root } from "./support/build.js";
import { Disk, noDisk } from "./support/disk.js";
import { Home, type ServerProcess, within } from "./support/server-process.js";
import { resuming, say, settled, stateOf, statusText, taskOf } from "./support/story.js";
import { childrenOf, isAlive, reaches, workersOf, writerOf } from "./support/workers.js";

let home: Home;
let server: ServerProcess;
const drivers: Driver[] = [];
const rest = bindings.find(({ name }) => name === "rest");

function connect(): Driver {
  const driver = rest?.connect(server) as Driver;
  drivers.push(driver);
  return driver;
}

async function start(agent: string, under: readonly string[] = [], ...flags: string[]): Promise<void> {
  home = new Home("--workers", "2", "--idempotent-message-ids", ...flags);
  home.agent = join(root, `test/fixtures/agents/${agent}.mjs`);
  home.under = under;
  server = await home.start();
}

async function begin(driver: Driver, text: string): Promise<string> {
  const request = { ...say(text), configuration: { returnImmediately: true } };
  const { message } = await driver.call("SendMessage", request, resuming());
  const task = message?.task as JsonObject;
  return String(task.id);
}

async function ended(pids: readonly number[]): Promise<void> {
  const all = async (): Promise<void> => {
    while (pids.some(isAlive)) await sleep(20);
  };
  await within(30_000, all(), () => `Of ${pids}, some are still there.`);
}

async function readiness(): Promise<string> {
  const answer = (await (await fetch(`${server.url}/readyz`)).json()) as { status: string };
  return answer.status;
}

afterEach(async () => {
  const left = childrenOf(server.pid);
  for (const id of left) if (isAlive(id)) process.kill(id, "SIGCONT");
  for (const driver of drivers.splice(0)) driver.close();
  await server.kill();
  await ended(left);
  await home.leave();
});

describe("the process that writes for workers", { timeout: 240_000 }, () => {
  it("is replaced when it is killed, and nothing that was acknowledged is lost or doubled", async () => {
    await start("process");
    await reaches(connect, 2);
    const tasks = new Map<string, string>();
    const kills = scaled(3, 10);
    let isOver = false;
    const call = async (caller: number): Promise<void> => {
      const driver = connect();
      for (let at = 0; !isOver; at++) {
        const message = { ...(say("hello").message as JsonObject), messageId: `${caller}-${at}` };
        for (;;) {
          const answer = await driver.call("SendMessage", { message }, resuming());
          const task = answer.message?.task as JsonObject | undefined;
          if (task !== undefined) {
            tasks.set(`${caller}-${at}`, String(task.id));
            break;
          }
          await sleep(50);
        }
      }
    };
    const calls = Promise.all([0, 1, 2, 3].map(call));
    for (let kill = 0; kill < kills; kill++) {
      const { size } = tasks;
      await expect.poll(() => tasks.size, { timeout: 60_000 }).toBeGreaterThan(size + 10);
      const writer = writerOf(server.pid) as number;
      process.kill(writer, "SIGKILL");
      await ended([writer]);
    }
    await expect.poll(readiness, { timeout: 30_000 }).toBe("ready");
    isOver = true;
    await calls;
    expect(new Set(tasks.values()).size).toBe(tasks.size);
    const driver = connect();
    for (const id of tasks.values()) expect(stateOf(await taskOf(driver, id))).toMatch(/COMPLETED|FAILED/);
    expect(workersOf(server.pid)).toHaveLength(2);
    server.signal("SIGTERM");
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(expectSoundFile(home.store)).toBe(tasks.size);
  });

  it("keeps the tasks of a worker whose agent blocks it, and not those of one that is stopped", async () => {
    await start("marking", [], "--lease", "2s");
    await reachesBoth();
    const blocked = await begin(connect(), "block 5000");
    expect(statusText(await settled(connect(), blocked))).toBe("attempt 1");
    const ids = await Promise.all([60, 61, 62, 63].map((count) => begin(connect(), `mark ${count} 100`)));
    const [stopped = 0] = workersOf(server.pid);
    process.kill(stopped, "SIGSTOP");
    await sleep(5_000);
    process.kill(stopped, "SIGCONT");
    const texts = await Promise.all(ids.map(async (id) => statusText(await settled(connect(), id))));
    expect(texts.toSorted()).toEqual(["attempt 1", "attempt 1", "attempt 2", "attempt 2"]);
    expect(server.log).toContain("taken over");
  });

  it("ends with a killed primary process, and closes the file", async () => {
    await start("process");
    await begin(connect(), "hello");
    const left = childrenOf(server.pid);
    expect(left).toHaveLength(3);
    await server.kill();
    await ended(left);
    expect(expectSoundFile(home.store)).toBe(1);
    server = await home.start();
  });

  it.skipIf(noDisk !== undefined)("reports a disk that fails, and writes again when it is well", async () => {
    const folder = new Home().folder;
    const disk = new Disk(folder);
    home = new Home("--workers", "2");
    home.store = join(folder, "tasks.db");
    home.agent = join(root, "test/fixtures/agents/process.mjs");
    home.under = disk.under;
    server = await home.start();
    await begin(connect(), "hello");
    for (const state of ["full", "hang"] as const) {
      disk.become(state);
      const failed = connect().call("SendMessage", say("hello"), resuming());
      await expect.poll(readiness, { timeout: 30_000 }).toBe("unavailable");
      expect((await failed).error).toBeDefined();
      disk.become("well");
      await expect.poll(readiness, { timeout: 30_000 }).toBe("ready");
      await begin(connect(), "hello");
    }
    disk.leave();
  });

  it("opens the file again after it was lost", async () => {
    await start("process", [], "--store-recovery", "1s");
    const id = await begin(connect(), "hello");
    const folder = dirname(home.store);
    for (const end of ["", "-wal", "-shm"]) renameSync(home.store + end, join(folder, `moved${end}`));
    const restarted = async (): Promise<void> => {
      for (;;) {
        const answer = await connect()
          .call("GetTask", { id }, resuming())
          .catch(() => undefined);
        if (answer?.error !== undefined && /not found/i.test(JSON.stringify(answer.error))) return;
        await sleep(100);
      }
    };
    await within(60_000, restarted(), () => server.log);
    await expect.poll(readiness, { timeout: 30_000 }).toBe("ready");
    await begin(connect(), "hello");
  });
});

/** Resolves when both workers accept connections. */
async function reachesBoth(): Promise<void> {
  const ready = (): number => server.log.split("the server is ready").length - 1;
  await expect.poll(ready, { timeout: 30_000 }).toBe(2);
}
