import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SharedRate } from "../../src/signals/shared-rate.js";
import type { SignalMember } from "../../src/signals/signals.js";
import { sharedUsage } from "../../src/signals/usage.js";
import { Bus } from "./bus.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const PER_SECOND = 64;
const rate = { intervalMs: 1_000 / PER_SECOND, burst: PER_SECOND, maxKeys: 1_000 };
const rateOf = (signals: SignalMember | undefined): SharedRate => new SharedRate(rate, signals, "test");

/** Events that were allowed while all ask for one of each key in each step. */
async function hammer(rates: readonly SharedRate[], ms: number, keys: readonly string[] = ["a"]): Promise<number> {
  let allowed = 0;
  const stepMs = 2;
  for (let at = 0; at < ms; at += stepMs) {
    for (const each of rates) for (const key of keys) if (each.take(key) === 0) allowed++;
    await vi.advanceTimersByTimeAsync(stepMs);
  }
  return allowed;
}

/** Events of a key that are allowed at once. */
function burst(rate: SharedRate, key: string): number {
  let allowed = 0;
  while (rate.take(key) === 0) allowed++;
  return allowed;
}

/** The most that docs/limits.md says, of processes that ask for as long. */
function most(processes: number, ms: number): number {
  const lagMs = sharedUsage.periodMs + 10;
  const once = PER_SECOND + (processes - 1) * (PER_SECOND + (PER_SECOND * lagMs) / 1_000);
  const unpublished = ((processes - 1) * ms) / 1_000;
  return Math.ceil((PER_SECOND * ms) / 1_000 + once + unpublished);
}

describe("SharedRate", () => {
  it("holds over processes, with the slack of one burst for each", async () => {
    for (const processes of [2, 3, 8]) {
      const bus = new Bus();
      const rates = Array.from({ length: processes }, () => rateOf(bus.join()));
      const allowed = await hammer(rates, 20_000);
      expect(allowed).toBeLessThanOrEqual(most(processes, 20_000));
      expect(allowed).toBeGreaterThanOrEqual(PER_SECOND * 20);
    }
  });

  it("holds for simultaneous bursts as well, once the rate has caught up with earlier ones", async () => {
    const bus = new Bus();
    const rates = [rateOf(bus.join()), rateOf(bus.join()), rateOf(bus.join())];
    let allowed = 0;
    for (let second = 0; second < 20; second++) {
      for (let i = 0; i < PER_SECOND; i++) for (const each of rates) if (each.take("a") === 0) allowed++;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(allowed).toBeLessThanOrEqual(most(3, 20_000));
  });

  it("gives one process the whole limit while the others are idle", async () => {
    const bus = new Bus();
    const one = rateOf(bus.join());
    rateOf(bus.join());
    expect(await hammer([one], 10_000)).toBeGreaterThanOrEqual(PER_SECOND * 10);
  });

  it("holds for each process alone while signals are lost, and for all when they are back", async () => {
    const bus = new Bus();
    const rates = [rateOf(bus.join()), rateOf(bus.join()), rateOf(bus.join())];
    bus.isCut = true;
    const cut = await hammer(rates, 10_000);
    expect(cut).toBeGreaterThan(PER_SECOND * 10 * 2.9);
    expect(cut).toBeLessThanOrEqual(3 * PER_SECOND * 11);
    bus.isCut = false;
    expect(await hammer(rates, 20_000)).toBeLessThanOrEqual(most(3, 20_000));
  });

  it("forgets a process that has ended at the pace of the limit", async () => {
    const bus = new Bus();
    const [one, two] = [rateOf(bus.join()), rateOf(bus.join())];
    await hammer([one, two], 5_000);
    // The second process falls silent.
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await hammer([one], 5_000)).toBeGreaterThanOrEqual(PER_SECOND * 5);
  });

  it("keeps callers apart, and the rates of different things", async () => {
    const bus = new Bus();
    const [one, two] = [rateOf(bus.join()), rateOf(bus.join())];
    const other = new SharedRate(rate, bus.join(), "other");
    await hammer([one], 1_000, ["a"]);
    await vi.advanceTimersByTimeAsync(200);
    expect(burst(two, "a")).toBeLessThan(PER_SECOND / 2);
    expect(burst(two, "b")).toBe(PER_SECOND);
    expect(burst(other, "a")).toBe(PER_SECOND);
  });

  it("broadcasts no name, and no caller with few events", async () => {
    const bus = new Bus();
    const few = new SharedRate({ ...rate, burst: 640 }, bus.join(), "test");
    for (let i = 0; i < 20; i++) {
      few.take("owner alice");
      await vi.advanceTimersByTimeAsync(200);
    }
    expect(bus.texts).toEqual([]);
    for (let i = 0; i < 100; i++) few.take("owner alice");
    await vi.advanceTimersByTimeAsync(200);
    expect(bus.texts).toHaveLength(1);
    expect(bus.texts.join()).not.toContain("alice");
  });

  it("reports many callers in messages that fit any carrier", async () => {
    const bus = new Bus();
    const [one, two] = [rateOf(bus.join("0123456789012345678901")), rateOf(bus.join())];
    const keys = Array.from({ length: 400 }, (_, i) => `caller ${i}`);
    for (const key of keys) for (let i = 0; i < PER_SECOND; i++) one.take(key);
    await vi.advanceTimersByTimeAsync(500);
    expect(bus.texts).toHaveLength(2);
    for (const text of bus.texts) expect(text.length).toBeLessThan(7_000);
    for (const key of keys) expect(burst(two, key)).toBeLessThan(PER_SECOND / 2);
  });

  it("ignores what no process has sent", async () => {
    const bus = new Bus();
    const one = rateOf(bus.join());
    const name = "abcdefghijkl";
    const values = [
      ...[null, 1, "x", {}, [name], [name, 0], [name, -5], [name, 1.5], [name, "1"], [name, 1e9], [name, null]],
      ...[["short", 1], [1, 1], [[name], 1], Array(5_000).fill(1), [name, 1, "short", 1]],
    ];
    for (const [i, value] of values.entries())
      bus.say(JSON.stringify(["p1", "v", "stranger", i + 1, "spent.test", value]));
    bus.say('["p1","v","stranger"');
    bus.say(JSON.stringify(["p1", "v", "stranger", Number.MAX_VALUE, "spent.test", [name, 1]]));
    expect(await hammer([one], 2_000)).toBeGreaterThanOrEqual(PER_SECOND * 2);
  });

  it("sends fewer messages the more processes there are", async () => {
    const bus = new Bus();
    const rates = Array.from({ length: 60 }, () => rateOf(bus.join()));
    await hammer(rates, 2_000);
    bus.texts.splice(0);
    await hammer(rates, 4_000);
    expect(bus.texts.length / 4).toBeLessThanOrEqual(110);
  });
});
