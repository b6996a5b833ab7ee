import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { PostgresServer, programs } from "../store/postgres/server.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { isFinal, logOf, resuming, say, settled, stateOf, statusText } from "./support/story.js";

const bin = programs();

/** Flags with a long lease. A turn that an outage ended continues long before two thirds of it. */
const patient = ["--lease", "60s", "--max-restarts", "0"];

/** Starts a task without waiting for it. @returns its id; undefined if it was refused */
async function begin(driver: Driver, text: string): Promise<string | undefined> {
  const request = { ...say(text), configuration: { returnImmediately: true } };
  const { message } = await driver.call("SendMessage", request, resuming());
  return (message?.task as JsonObject | undefined)?.id as string | undefined;
}

const ready = async ({ url }: ServerProcess): Promise<number> => (await fetch(`${url}/readyz`)).status;

/** Polls a task until it ends, for less time than its lease. */
async function over(driver: Driver, id: string | undefined): Promise<JsonObject> {
  let task: JsonObject | undefined;
  const read = async (): Promise<boolean> => {
    const { message } = await driver.call("GetTask", { id: id ?? "" }, resuming());
    task = message;
    return task !== undefined && isFinal(stateOf(task));
  };
  await expect.poll(read, { timeout: 20_000, interval: 200 }).toBe(true);
  return task as JsonObject;
}

describe.skipIf(bin === undefined)("a server whose database is killed and started again", { timeout: 120_000 }, () => {
  const database = bin === undefined ? (undefined as never) : new PostgresServer(bin);
  const homes: Home[] = [];
  afterEach(async () => {
    for (const home of homes.splice(0)) await home.leave();
  });
  afterAll(() => database.end());

  const serve = async (...flags: readonly string[]): Promise<{ server: ServerProcess; driver: Driver }> => {
    const home = new Home(...flags);
    homes.push(home);
    home.store = `${database.url}&schema=outage`;
    const server = await home.start();
    return { server, driver: bindings[0]?.connect(server) as Driver };
  };

  it("says that it is not ready, keeps what it acknowledged, and goes on by itself", async () => {
    const { server, driver } = await serve("--lease", "2s");
    const before = await begin(driver, "echo before");
    expect(stateOf(await settled(driver, before ?? ""))).toBe("TASK_STATE_COMPLETED");
    const streaming = await begin(driver, "stream 400 16 10");
    await new Promise((resolve) => setTimeout(resolve, 800));
    database.stop("immediate");
    await expect.poll(() => ready(server), { timeout: 10_000 }).toBe(503);
    expect(await begin(driver, "echo during")).toBeUndefined();
    database.start();
    await expect.poll(() => ready(server), { timeout: 20_000 }).toBe(200);
    const after = await begin(driver, "echo after");
    expect(stateOf(await settled(driver, after ?? ""))).toBe("TASK_STATE_COMPLETED");
    // The interrupted turn completes or fails. Its generations have no gap.
    const ended = await settled(driver, streaming ?? "");
    expect(["TASK_STATE_COMPLETED", "TASK_STATE_FAILED"]).toContain(stateOf(ended));
    const generations = [...(await logOf(driver, streaming ?? "")).events.keys()];
    expect(generations).toEqual(generations.map((_, index) => index + 2));
    expect((await server.stop()).code).toBe(0);
    driver.close();
  });

  it("continues turns as soon as the database is back, without counting a restart", async () => {
    const { server, driver } = await serve(...patient);
    const waiting = await begin(driver, "wait 1500");
    const streaming = await begin(driver, "stream 400 16 10");
    database.stop("immediate");
    await expect.poll(() => ready(server), { timeout: 10_000 }).toBe(503);
    // Its turn ends during the outage and cannot be stored.
    await sleep(2_000);
    database.start();
    expect(statusText(await over(driver, waiting))).toBe("Waited for 1500 ms.");
    const why = "The agent was stopped by an outage of the task store before it finished.";
    expect(statusText(await over(driver, streaming))).toBe(why);
    expect((await server.stop()).code).toBe(0);
    driver.close();
  });
});

describe.skipIf(!existsSync("/usr/bin/prlimit"))("a server whose disk is full for a while", { timeout: 60_000 }, () => {
  const home = new Home(...patient);
  afterAll(() => home.leave());

  it("continues turns as soon as there is room, without counting a restart", async () => {
    // Limits files to 1 MiB until the limit is raised.
    home.under = ["sh", "-c", 'ulimit -S -f 2048; exec "$@"', "sh"];
    const server = await home.start();
    const driver = bindings[0]?.connect(server) as Driver;
    const waiting = await begin(driver, "wait 4000");
    await begin(driver, "stream 20000 100");
    await expect.poll(() => ready(server), { timeout: 10_000 }).toBe(503);
    await sleep(4_500);
    execFileSync("prlimit", ["--pid", `${server.pid}`, "--fsize=unlimited:unlimited"]);
    expect(statusText(await over(driver, waiting))).toBe("Waited for 4000 ms.");
    expect(await ready(server)).toBe(200);
    expect((await server.stop()).code).toBe(0);
    driver.close();
  });
});
