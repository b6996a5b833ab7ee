import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Driver, Reply } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { expectSoundFile } from "../support/sound-file.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { logOf, resuming, Story, say, stateOf, statusText, taskOf } from "./support/story.js";

/** Limits files of the server to 1 MiB, so that its writes fail as on a full disk. (Blocks of 512 bytes; POSIX.) */
const fullDisk = ["sh", "-c", 'ulimit -f 2048; exec "$@"', "sh"];

/** A message of which a few fit. */
const small = "echo hello";

const home = new Home("--log-level", "silent");
const acknowledged: JsonObject[] = [];
const refused: Reply[] = [];
let server: ServerProcess;
let drivers: Driver[];

describe.skipIf(process.platform === "win32")("a server whose disk is full", { timeout: 60_000 }, () => {
  /** A stream that the full disk interrupted. */
  const cut = new Story();

  beforeAll(async () => {
    home.under = fullDisk;
    server = await home.start();
    drivers = bindings.map((binding) => binding.connect(server));
    const [first] = drivers as [Driver];
    const stream = first.stream("SendStreamingMessage", say("stream 20000 16 5"), resuming());
    const left = cut.follow(stream);
    await cut.has(5);
    for (let i = 0; refused.length < 2 * drivers.length; i++) {
      const signal = AbortSignal.timeout(5_000);
      const driver = drivers[i % drivers.length] as Driver;
      const reply = await driver.call("SendMessage", say(small), { ...resuming(), signal }).catch(() => undefined);
      // An accepted task that the disk interrupted gets no answer until there is space.
      if (signal.aborted || reply === undefined) continue;
      if (reply.message === undefined) refused.push(reply);
      else acknowledged.push(reply.message.task as JsonObject);
    }
    stream.hangUp();
    await left;
  }, 60_000);

  afterAll(() => home.leave());

  it("refuses what it cannot store, over every binding", () => {
    expect(refused).toHaveLength(2 * drivers.length);
    for (const { error } of refused) expect([error?.status, error?.reason]).toContain("UNAVAILABLE");
  });

  it("is alive, and has everything that it acknowledged", async () => {
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(acknowledged.length).toBeGreaterThan(0);
    for (const driver of drivers) {
      for (const task of acknowledged) expect(await taskOf(driver, String(task.id))).toEqual(task);
    }
  });

  it("has it after a crash as well, and goes on when there is room", async () => {
    for (const driver of drivers) driver.close();
    await server.kill();
    home.under = [];
    server = await home.start();
    drivers = bindings.map((binding) => binding.connect(server));
    const [driver] = drivers as [Driver];
    for (const task of acknowledged) expect(await taskOf(driver, String(task.id))).toEqual(task);
    const { message } = await driver.call("SendMessage", say(small), resuming());
    expect(stateOf(message?.task as JsonObject)).toBe("TASK_STATE_COMPLETED");
    const log = await logOf(driver, cut.taskId);
    for (const [generation, event] of cut.events) expect(log.events.get(generation)).toEqual(event);
    const task = await taskOf(driver, cut.taskId);
    expect(stateOf(task)).toBe("TASK_STATE_FAILED");
    expect(statusText(task)).toBe("The agent was stopped by a crash of the server before it finished.");
    await server.stop();
    expectSoundFile(home.store);
  });
});
