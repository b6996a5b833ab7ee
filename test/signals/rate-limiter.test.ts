import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RateLimiter } from "../../src/signals/rate-limiter.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const taken = (limiter: RateLimiter, key: string, times: number): number[] =>
  Array.from({ length: times }, () => limiter.take(key));

describe("RateLimiter", () => {
  it("gives a burst at once, then one for each interval", () => {
    const limiter = new RateLimiter({ intervalMs: 100, burst: 3, maxKeys: 10 });
    expect(taken(limiter, "a", 5)).toEqual([0, 0, 0, 100, 100]);
    vi.advanceTimersByTime(60);
    expect(limiter.take("a")).toBe(40);
    vi.advanceTimersByTime(40);
    expect(taken(limiter, "a", 2)).toEqual([0, 100]);
    expect(taken(limiter, "b", 3)).toEqual([0, 0, 0]);
  });

  it("gives a whole burst at any time, although times are rounded", () => {
    const clock = vi.spyOn(performance, "now");
    for (const intervalMs of [1_000, 1_000 / 3, 0.1]) {
      for (let power = 2; power < 2 ** 40; power *= 2) {
        for (const before of [1.1, 2.7, 4.9].map((bursts) => bursts * intervalMs)) {
          clock.mockReturnValue(power - before + 0.123);
          const limiter = new RateLimiter({ intervalMs, burst: 5, maxKeys: 10 });
          expect(taken(limiter, "a", 4)).toEqual([0, 0, 0, 0]);
          expect(limiter.waitMs("a")).toBe(0);
          expect(taken(limiter, "a", 2)).toEqual([0, expect.closeTo(intervalMs, 2)]);
        }
      }
    }
    clock.mockRestore();
  });

  it("saves up no more than a burst, however long the pause", () => {
    const limiter = new RateLimiter({ intervalMs: 100, burst: 2, maxKeys: 10 });
    limiter.take("a");
    vi.advanceTimersByTime(3_600_000);
    expect(taken(limiter, "a", 3)).toEqual([0, 0, 100]);
  });

  it("what is charged beyond the burst puts the end of the wait off by no more", () => {
    const limiter = new RateLimiter({ intervalMs: 100, burst: 2, maxKeys: 10 });
    for (let i = 0; i < 50; i++) limiter.charge("a");
    expect(limiter.waitMs("a")).toBe(100);
  });

  it("lets through what the rate allows, whatever the pattern", () => {
    const limiter = new RateLimiter({ intervalMs: 10, burst: 5, maxKeys: 10 });
    let through = 0;
    for (let ms = 0; ms < 10_000; ms += 3) {
      for (let i = 0; i < 1 + (ms % 4); i++) if (limiter.take("a") === 0) through++;
      vi.advanceTimersByTime(3);
    }
    expect(through).toBeGreaterThanOrEqual(1_000);
    expect(through).toBeLessThanOrEqual(1_005);
  });

  it("remembers a bounded number of keys, and those that come again", () => {
    const limiter = new RateLimiter({ intervalMs: 1_000, burst: 1, maxKeys: 100 });
    for (let i = 0; i < 10_000; i++) {
      limiter.take(`${i}`);
      expect(limiter.size).toBeLessThanOrEqual(100);
      if (i % 20 === 0) limiter.charge("again");
    }
    expect(limiter.waitMs("again")).toBeGreaterThan(0);
    expect(limiter.waitMs("9999")).toBeGreaterThan(0);
    expect(limiter.waitMs("0")).toBe(0);
  });
});
