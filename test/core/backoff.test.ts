import { afterEach, describe, expect, it, vi } from "vitest";
import { backoffMs } from "../../src/core/async.js";

const bounds = { firstMs: 100, maxMs: 1_000 };

describe("backoffMs()", () => {
  afterEach(() => void vi.restoreAllMocks());
  const drawn = (share: number, failures: number, jitter?: number): number => {
    vi.spyOn(Math, "random").mockReturnValue(share);
    return backoffMs(failures, { ...bounds, ...(jitter !== undefined && { jitter }) });
  };

  it("draws from all of a time that doubles up to the maximum", () => {
    for (const [at, ceiling] of [100, 200, 400, 800, 1_000, 1_000].entries()) {
      for (const share of [0, 0.5, 1]) expect(drawn(share, at + 1)).toBe(share * ceiling);
    }
    expect(drawn(1, 1e9)).toBe(1_000);
  });

  it("leaves the share of the delay that is not random", () => {
    expect([drawn(0, 2, 0.5), drawn(1, 2, 0.5)]).toEqual([100, 200]);
    expect([drawn(0, 3, 0), drawn(1, 3, 0)]).toEqual([400, 400]);
  });

  it("is 0 without a first delay, after any number of failures", () => {
    expect(backoffMs(1e9, { firstMs: 0, maxMs: 0 })).toBe(0);
  });
});
