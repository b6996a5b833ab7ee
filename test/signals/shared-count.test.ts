import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SharedCount } from "../../src/signals/shared-count.js";
import type { SignalMember } from "../../src/signals/signals.js";
import { Bus } from "./bus.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Things that callers have open in one process. */
class Process {
  changes = 0;
  readonly counts: SharedCount<{ open: number }>;
  readonly #callers = new Map<string, { open: number }>();

  constructor(signals: SignalMember | undefined, max = 10) {
    this.counts = new SharedCount({
      ...{ signals, topic: "things", max, countOf: ({ open }) => open },
      changed: () => void this.changes++,
    });
  }

  /** Opens one unless the caller has as many as it may. */
  open(key: string, max = 10): boolean {
    const caller = this.#callers.get(key) ?? { open: 0 };
    this.#callers.set(key, caller);
    if (caller.open + this.counts.elsewhere(key) >= max) return false;
    if (++caller.open > this.counts.publishAbove) this.counts.publish(key, caller);
    return true;
  }

  close(key: string, count = 1): void {
    const caller = this.#callers.get(key);
    if (caller !== undefined) caller.open -= count;
  }
}

const openAll = (process: Process, key = "a"): number => {
  let opened = 0;
  while (process.open(key)) opened++;
  return opened;
};

const afterBroadcast = (): Promise<unknown> => vi.advanceTimersByTimeAsync(120);

describe("SharedCount", () => {
  it("counts what callers have in other processes, and what they close there", async () => {
    const bus = new Bus();
    const [one, two, three] = [new Process(bus.join()), new Process(bus.join()), new Process(bus.join())];
    for (let i = 0; i < 6; i++) one.open("a");
    await afterBroadcast();
    expect(openAll(two)).toBe(4);
    await afterBroadcast();
    expect([openAll(one), openAll(two), openAll(three)]).toEqual([0, 0, 0]);
    expect(openAll(three, "b")).toBe(10);
    one.close("a", 3);
    await afterBroadcast();
    expect(openAll(three)).toBe(3);
  });

  it("lets each process have as many only within the time of a message", async () => {
    const bus = new Bus();
    const processes = Array.from({ length: 3 }, () => new Process(bus.join()));
    expect(processes.map((each) => openAll(each))).toEqual([10, 10, 10]);
    await afterBroadcast();
    for (const each of processes) each.close("a", 4);
    await afterBroadcast();
    expect(processes.map((each) => openAll(each))).toEqual([0, 0, 0]);
    for (const each of processes) each.close("a", 5);
    await afterBroadcast();
    expect(openAll(processes[0] as Process)).toBe(7);
  });

  it("repeats lost counts", async () => {
    const bus = new Bus();
    const [one, two] = [new Process(bus.join()), new Process(bus.join())];
    bus.isCut = true;
    for (let i = 0; i < 6; i++) one.open("a");
    await vi.advanceTimersByTimeAsync(500);
    expect(two.counts.elsewhere("a")).toBe(0);
    bus.isCut = false;
    await vi.advanceTimersByTimeAsync(1_200);
    expect(two.counts.elsewhere("a")).toBe(6);
  });

  it("drops the counts of an ended process four seconds after its last message", async () => {
    const bus = new Bus();
    const [signals, other] = [bus.join(), bus.join()];
    const [one, two] = [new Process(signals), new Process(other)];
    for (let i = 0; i < 10; i++) one.open("a");
    await afterBroadcast();
    expect(openAll(two)).toBe(0);
    const before = two.changes;
    signals.leave();
    await vi.advanceTimersByTimeAsync(4_100);
    expect(two.changes).toBeGreaterThan(before);
    expect(two.counts.isAlone).toBe(true);
    expect(openAll(two)).toBe(10);
  });

  it("keeps the counts of a process for as long as it lives", async () => {
    const bus = new Bus();
    const [one, two] = [new Process(bus.join()), new Process(bus.join())];
    for (let i = 0; i < 10; i++) one.open("a");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(openAll(two)).toBe(0);
    one.close("a", 10);
    await afterBroadcast();
    expect(openAll(two)).toBe(10);
    // An empty count sends no signal.
    await vi.advanceTimersByTimeAsync(4_000);
    two.close("a", 10);
    await afterBroadcast();
    bus.texts.splice(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(bus.texts).toEqual([]);
  });

  it("broadcasts no callers with a small part of their limit, and no names", async () => {
    const bus = new Bus();
    const one = new Process(bus.join(), 1_000);
    bus.join();
    for (let i = 0; i < 15; i++) one.open("owner alice", 1_000);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(bus.texts).toEqual([]);
    one.open("owner alice", 1_000);
    await afterBroadcast();
    expect(bus.texts).toHaveLength(1);
    expect(bus.texts.join()).not.toContain("alice");
  });

  it("holds for each process alone without signals", () => {
    expect(openAll(new Process(undefined))).toBe(10);
  });

  it("ignores what no process has sent", async () => {
    const bus = new Bus();
    const one = new Process(bus.join());
    for (const [i, value] of [{}, ["x", 1], ["abcdefghijkl", -1], ["abcdefghijkl", 0.5], "", 7].entries()) {
      bus.say(JSON.stringify(["p1", "v", "stranger", i + 1, "open.things", value]));
    }
    await afterBroadcast();
    expect(one.counts.isAlone).toBe(true);
    expect(openAll(one)).toBe(10);
  });
});
