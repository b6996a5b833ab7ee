import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { attemptsOf, outagesOf, runsOf } from "../../src/engine/log/attempts.js";
import { Interruptions } from "../../src/engine/log/interruptions.js";
import type { Lease } from "../../src/store/task-store.js";

describe("Interruptions", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("lets a turn wait longer after each outage, and counts those beyond 20 as crashes", () => {
    const all = new Interruptions();
    let lease: Lease = { holder: "h", turn: 1, attempt: 1 };
    const waits: number[] = [];
    for (let outages = 0; outages < 23; outages++) {
      all.note("t", { after: 1, isOutage: true });
      let waited = 0;
      for (; all.mustWait("t", lease); waited += 500) vi.advanceTimersByTime(500);
      waits.push(waited);
      lease = all.next("t", lease);
      all.forget("t");
    }
    expect(waits.slice(0, 8)).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect([outagesOf(lease), attemptsOf(lease), runsOf(lease)]).toEqual([20, 4, 24]);
  });

  it("gives a turn that has not started its first attempt", () => {
    const all = new Interruptions();
    all.note("t", { after: 3, isOutage: true });
    expect(all.next("t", { holder: "h", turn: 3, attempt: 1 }).attempt).toBeGreaterThan(1);
    expect(all.next("t", { holder: "h", turn: 4, attempt: 1 })).toEqual({ holder: "h", turn: 4, attempt: 0 });
    // A later note of a failing send does not hide the turn that was about to start.
    all.note("u", { after: 3, next: 4, isOutage: true });
    all.note("u", { after: 5, isOutage: true });
    expect(all.next("u", { holder: "h", turn: 3, attempt: 1 })).toEqual({ holder: "h", turn: 4, attempt: 0 });
    all.leaveToPolls("u");
    expect(all.next("u", { holder: "h", turn: 3, attempt: 2 }).turn).toBe(3);
  });
});
