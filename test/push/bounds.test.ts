import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { outgoingPushes } from "../../src/push/dispatcher.js";
import { retryDelayMs } from "../../src/push/outcome.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { setConstants } from "../support/constants.js";
import { type Answer, accept, receive, refuse } from "./receiver.js";
import { chunk, Log, Rig } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

describe("the time until the next try", () => {
  afterEach(() => void vi.restoreAllMocks());
  const limits = { maxPushRetryMs: 60_000 };
  const drawn = (share: number, attempts: number, retryAfterMs?: number): number => {
    vi.spyOn(Math, "random").mockReturnValue(share);
    return retryDelayMs(attempts, limits, retryAfterMs);
  };

  it("is drawn from all of a time that doubles with each failure, up to the limit", () => {
    const ceilings = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
    for (const [attempts, ceiling] of ceilings.entries()) {
      for (const share of [0, 0.25, 0.5, 1]) expect(drawn(share, attempts)).toBe(share * ceiling);
    }
    expect(drawn(1, 1e9)).toBe(60_000);
  });

  it("is never the same for many that failed together", () => {
    const all = Array.from({ length: 1_000 }, () => retryDelayMs(6, limits));
    expect(new Set(all).size).toBeGreaterThan(990);
    // Full jitter: a quarter of them in each quarter, or nearly so.
    for (const quarter of [0, 1, 2, 3]) {
      const inIt = all.filter((ms) => Math.floor(ms / 15_000) === quarter);
      expect(inIt.length).toBeGreaterThan(150);
    }
  });

  it("is what the receiver asks for, where that is longer, and not beyond the limit", () => {
    expect(drawn(0.5, 0, 30_000)).toBe(30_000);
    expect(drawn(1, 5, 30_000)).toBe(32_000);
    expect(drawn(0, 0, 3_600_000)).toBe(60_000);
  });
});

describe("hostRest.failures", () => {
  it.each([2, 4])("%i failures in a row open the circuit: nothing more goes to the host", async (failures) => {
    const receiver = await receive(refuse(503));
    const store = memoryStore();
    // Once it rests, it does for longer than any test.
    const long = { retryMs: 600_000, rest: { failures, maxMs: 600_000 } };
    const limits = { maxPushRetryMs: 600_000, maxDeliveriesPerHost: 1 };
    const one = await new Rig(store, { receivers: [receiver], ...long, limits }).start();
    for (let i = 0; i < 10; i++) {
      await Log.create(store, [receiver.url(`/${i}`)]);
      one.news();
      await expect.poll(() => receiver.hits.length, patience).toBe(Math.min(i + 1, failures));
    }
    const failing = { host: `http://127.0.0.1:${receiver.port}`, failures };
    await expect.poll(() => one.control.status().failingHosts, patience).toEqual([failing]);
    await sleep(50);
    expect(receiver.hits).toHaveLength(failures);
  });
});

describe("outgoingPushes", () => {
  it("bounds what is on its way to all hosts together, and all of it arrives", async () => {
    const large = 90_000;
    let [open, peak] = [0, 0];
    const slowly: Answer = (hit, response, request) => {
      if (hit.body.length < large) return accept(hit, response, request);
      peak = Math.max(peak, ++open);
      setTimeout(() => {
        open--;
        accept(hit, response, request);
      }, 30);
    };
    const hosts = await Promise.all(Array.from({ length: 12 }, () => receive(slowly)));
    const store = memoryStore();
    // Three eighths are for hosts that are known to take what comes: three of these notifications.
    setConstants(outgoingPushes, { maxBytes: 800_000 });
    const limits = { maxDeliveries: 64 };
    const one = await new Rig(store, { receivers: hosts, limits }).start();
    const logs = await Promise.all(hosts.map((host) => Log.create(store, [host.url("/a")], [], "")));
    one.news();
    await expect.poll(() => hosts.every(({ hits }) => hits.length === 1), patience).toBe(true);
    for (const log of logs) await log.append([chunk("x".repeat(large))]);
    one.news();
    await expect.poll(() => hosts.every(({ hits }) => hits.length === 2), patience).toBe(true);
    expect(peak).toBeLessThanOrEqual(3);
    expect(peak).toBeGreaterThan(1);
  });
});
