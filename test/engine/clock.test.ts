import { afterEach, describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { completed, inputRequired } from "../../src/agent/event.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { ClockWatch } from "../../src/engine/run/maintenance.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { Bench, scope, settle } from "./support.js";

const agent: Omit<Agent, "card"> = {
  async *execute(turn) {
    yield turn.text === "ask" ? inputRequired("?") : completed();
  },
};

const HOUR = 3_600_000;
afterEach(() => {
  vi.restoreAllMocks();
});

/** Moves the time of day by `ms` from now on. */
function jump(ms: number): void {
  const real = Date.now;
  vi.spyOn(Date, "now").mockImplementation(() => real() + ms);
}

/** An engine that keeps ended and interrupted tasks for a second. */
function serve(): { bench: Bench; removals: () => number } {
  const store = memoryStore();
  const removing = vi.spyOn(store, "removeFinished");
  const limits = { ...defaultLimits, maxInterruptedMs: 1_000 };
  return { bench: new Bench(agent, { limits, retentionMs: 1_000 }, store), removals: () => removing.mock.calls.length };
}

describe("ClockWatch", () => {
  afterEach(() => void vi.useRealTimers());

  it.each([5 * HOUR, -5 * HOUR, 6_000])("relies on no age for ten minutes after a jump by %i ms", (ms) => {
    vi.useFakeTimers();
    const lines: string[] = [];
    const watch = new ClockWatch({ ...silentLogger, warn: (_, line) => lines.push(line) });
    expect(watch.isSteady).toBe(true);
    vi.setSystemTime(Date.now() + ms);
    expect(watch.isSteady).toBe(false);
    vi.advanceTimersByTime(599_000);
    expect(watch.isSteady).toBe(false);
    vi.advanceTimersByTime(1_000);
    expect(watch.isSteady).toBe(true);
    expect(lines).toHaveLength(1);
  });

  it("takes a clock that is set a little, or goes at another pace, for steady", () => {
    vi.useFakeTimers();
    const watch = new ClockWatch(silentLogger);
    for (let hour = 0; hour < 24; hour++) {
      vi.advanceTimersByTime(HOUR);
      vi.setSystemTime(Date.now() + 4_000);
      expect(watch.isSteady).toBe(true);
    }
  });
});

describe("a clock that jumps", () => {
  it("makes no task too old, and is named in the log", async () => {
    const { bench, removals } = serve();
    await bench.engine.start();
    const [done, asked] = [await bench.send("x"), await bench.send("ask")];
    await Promise.all([settle(done), settle(asked)]);
    jump(5 * HOUR);
    await expect.poll(() => bench.logged.map(({ message }) => message)).toContainEqual(expect.stringMatching(/clock/));
    const before = removals();
    // Time for several rounds of each kind.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(removals()).toBe(before);
    expect((await bench.engine.get(scope, done.now().task.id)).task.status?.state).toBe(TaskState.COMPLETED);
    expect((await bench.engine.get(scope, asked.now().task.id)).task.status?.state).toBe(TaskState.INPUT_REQUIRED);
    await bench.engine.drain(0);
  });

  it("does not keep those that are too old where it goes evenly", async () => {
    const { bench } = serve();
    await bench.engine.start();
    const [done, asked] = [await bench.send("x"), await bench.send("ask")];
    await Promise.all([settle(done), settle(asked)]);
    const { id } = asked.now().task;
    const left = async (): Promise<string[]> =>
      (await bench.engine.list({ ...scope, limit: 10 }, {})).views.map(({ task }) => task.id);
    await expect.poll(left).not.toContain(done.now().task.id);
    await expect.poll(left).not.toContain(id);
    await bench.engine.drain(0);
  });
});
