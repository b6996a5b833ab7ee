import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Hit, Receiver } from "../push/receiver.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { scaled } from "../support/soak.js";
import type { Home, ServerProcess } from "./support/server-process.js";
import { endDatabase, type SharedStore, sharedStores } from "./support/shared-stores.js";
import { expectAllOf, orderWith, pathsOf } from "./support/webhooks.js";

const patience = { timeout: 120_000, interval: 50 };
const [binding] = bindings;

let receiver: Receiver;
let home: Home;
const drivers: Driver[] = [];

beforeEach(async () => {
  receiver = await Receiver.start((_, response) => void setTimeout(() => response.writeHead(204).end(), 2));
});
afterEach(async () => {
  for (const driver of drivers.splice(0)) driver.close();
  await home.leave();
  await receiver.stop();
});
afterAll(endDatabase);

/** @param leaseMs time after which a silent server loses its deliveries; a starved server is silent too */
async function start(store: SharedStore, leaseMs: number): Promise<ServerProcess[]> {
  const push = ["--push", "--push-allow-http", "--push-ports", `${receiver.port}`, "--push-allow", "127.0.0.1"];
  const limits = ["--max-deliveries-per-host", "32", "--max-deliveries-per-host-per-second", "100000"];
  home = store.home(...push, ...limits, "--max-push-retry", "200ms", "--lease", `${leaseMs}ms`);
  return Promise.all([home.start(), home.start(), home.start()]);
}

function connect(server: ServerProcess): Driver {
  const driver = binding?.connect(server) as Driver;
  drivers.push(driver);
  return driver;
}

/** Creates tasks on each server, with two webhooks each. Calls to a server that dies may fail. */
function order(servers: readonly ServerProcess[], name: string, count: number, text: string): Promise<unknown> {
  const all = servers.flatMap((server, at) => {
    const driver = connect(server);
    return Array.from({ length: count }, (_, i) => orderWith(receiver, driver, `${name}-${at}-${i}`, text));
  });
  return Promise.allSettled(all);
}

/** Notifications whose id has arrived before. */
function repeats(): Hit[] {
  const seen = new Set<string>();
  return receiver.hits.filter(({ id, path }) => {
    const known = seen.has(`${path} ${id}`);
    seen.add(`${path} ${id}`);
    return known;
  });
}

describe.each(sharedStores)("three servers that share $name", { timeout: 400_000 }, (store) => {
  it("deliver thousands of notifications once each, one at a time for each configuration", async () => {
    const servers = await start(store, 15_000);
    const count = scaled(6, 10);
    await order(servers, "calm", count, "stream 60 16 5");
    await expect.poll(() => pathsOf(receiver), patience).toHaveLength(3 * count * 2);
    await expectAllOf(receiver, connect(servers[0] as ServerProcess));
    expect(receiver.hits.length).toBeGreaterThan(3 * count * 62);
    expect(repeats()).toEqual([]);
    expect(receiver.overlaps).toBe(0);
  });

  it("wait longer than a lease for a slow receiver, without a second delivery", async () => {
    const servers = await start(store, 4_000);
    receiver.answer = (_, response) => void setTimeout(() => response.writeHead(204).end(), 6_000);
    await order(servers, "slow", 1, "ask");
    await expect.poll(() => pathsOf(receiver), patience).toHaveLength(3);
    await expectAllOf(receiver, connect(servers[0] as ServerProcess));
    expect(repeats()).toEqual([]);
    expect(receiver.overlaps).toBe(0);
  });

  it("repeat only deliveries that a killed server may have made", async () => {
    let servers = await start(store, 6_000);
    const killed: number[] = [];
    for (let round = 0; round < 2; round++) {
      const orders = order(servers, `kill-${round}`, 6, "stream 60 16 10");
      const before = receiver.hits.length;
      await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(before + 200 + 150 * round);
      const [first, ...others] = servers as [ServerProcess, ServerProcess, ServerProcess];
      await first.kill();
      killed.push(performance.now());
      await orders;
      servers = [...others, await home.start()];
    }
    await expectAllOf(receiver, connect(servers[0] as ServerProcess));
    expect(receiver.overlaps).toBe(0);
    for (const { at } of repeats()) expect(at).toBeGreaterThan(killed[0] as number);
    // For each configuration and killed process, the notifications since its position was last saved.
    const again = new Map(repeats().map(({ path }) => [path, repeats().filter((hit) => hit.path === path).length]));
    for (const [path, hits] of again) expect(hits, path).toBeLessThan(62 * killed.length);
    expect(again.size).toBeLessThan(pathsOf(receiver).length);
  });

  it("take over the deliveries of a stopped server, which sends none of them after it resumes", async () => {
    const servers = await start(store, 2_000);
    for (const [round, stopped] of servers.slice(0, 2).entries()) {
      const orders = order(servers, `stop-${round}`, 5, "stream 100 16 20");
      const before = receiver.hits.length;
      await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(before + 300);
      stopped.signal("SIGSTOP");
      await sleep(6_000);
      stopped.signal("SIGCONT");
      await orders;
    }
    await expectAllOf(receiver, connect(servers[2] as ServerProcess));
    expect(receiver.overlaps).toBe(0);
  });
});
