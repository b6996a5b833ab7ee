import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Receiver } from "../push/receiver.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { scaled } from "../support/soak.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { expectAllOf, orderWith, pathsOf } from "./support/webhooks.js";

const patience = { timeout: 120_000, interval: 100 };
const [binding] = bindings;

let receiver: Receiver;
let home: Home;

beforeEach(async () => {
  receiver = await Receiver.start((_, response) => void setTimeout(() => response.writeHead(204).end(), 1));
});

afterEach(async () => {
  await home.leave();
  await receiver.stop();
});

function settle(...flags: string[]): void {
  const limits = ["--max-deliveries-per-host", "32", "--max-deliveries-per-host-per-second", "100000"];
  const push = ["--push", "--push-allow-http", "--push-ports", `${receiver.port}`, "--push-allow", "127.0.0.1"];
  home = new Home(...push, ...limits, "--max-push-retry", "200ms", ...flags);
}

const connect = (server: ServerProcess): Driver => binding?.connect(server) as Driver;

const order = (driver: Driver, name: string, text: string): Promise<void> => orderWith(receiver, driver, name, text);
const paths = (): string[] => pathsOf(receiver);
const expectAll = (driver: Driver): Promise<number> => expectAllOf(receiver, driver);

describe("servers that are killed in the middle of thousands of deliveries", { timeout: 400_000 }, () => {
  it("have every configuration get every event, in order, and repeats under their ids", async () => {
    settle();
    const rounds = scaled(3, 6);
    for (let round = 0; round < rounds; round++) {
      const server = await home.start();
      const driver = connect(server);
      const orders = Promise.all(
        Array.from({ length: 20 }, (_, i) => order(driver, `${round}-${i}`, "stream 60 16 5")),
      ).catch(() => {});
      const before = receiver.hits.length;
      // Kills the server during the deliveries, at another point in each round.
      await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(before + 300 + 173 * round);
      await server.kill();
      await orders;
      driver.close();
    }
    const server = await home.start();
    const driver = connect(server);
    expect(paths().length).toBeGreaterThan(rounds * 10);
    const events = await expectAll(driver);
    expect(events).toBeGreaterThan(rounds * 334);
    expect(receiver.overlaps).toBe(0);
    // Notifications in progress at a kill are sent again.
    expect(new Set(receiver.hits.map(({ id }) => id)).size).toBeLessThan(receiver.hits.length);
    driver.close();
    expect(await server.stop()).toMatchObject({ code: 0 });
  });
});

describe("two servers on one file", { timeout: 400_000 }, () => {
  it("never send one event at the same time, though one is stopped for longer than its lease and goes on", async () => {
    settle("--shared", "--lease", "2s");
    const [one, two] = await Promise.all([home.start(), home.start()]);
    const [here, there] = [connect(one), connect(two)];
    const send = (driver: Driver, name: string): Promise<unknown> =>
      Promise.all(Array.from({ length: 15 }, (_, i) => order(driver, `${name}-${i}`, "stream 100 16 20")));
    for (const [round, stopped] of [one, two, one].entries()) {
      await Promise.all([send(here, `${round}-here`), send(there, `${round}-there`)]);
      await expect.poll(() => paths().length, patience).toBe((round + 1) * 60);
      stopped.signal("SIGSTOP");
      await sleep(6_000);
      stopped.signal("SIGCONT");
      await sleep(500);
    }
    await expectAll(there);
    expect(receiver.overlaps).toBe(0);
    here.close();
    there.close();
  });

  it("go on with what the other was killed in, each event in order, and never at the same time", async () => {
    settle("--shared", "--lease", "2s");
    let [one, two] = await Promise.all([home.start(), home.start()]);
    let sent = 0;
    for (let round = 0; round < 4; round++) {
      const [here, there] = [connect(one), connect(two)];
      const orders = [here, there].flatMap((driver, at) =>
        Array.from({ length: 10 }, (_, i) => order(driver, `${round}-${at}-${i}`, "stream 60 16 10")),
      );
      sent += 20;
      // Calls to the killed server may have no answer.
      const settledOrders = Promise.allSettled(orders);
      const before = receiver.hits.length;
      await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(before + 200 + 150 * round);
      await one.kill();
      await settledOrders;
      for (const driver of [here, there]) driver.close();
      [one, two] = [two, await home.start()];
    }
    expect(paths().length).toBeGreaterThan(sent);
    const driver = connect(one);
    await expectAll(driver);
    expect(receiver.overlaps).toBe(0);
    driver.close();
  });
});
