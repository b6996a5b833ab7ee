import { describe, expect, it } from "vitest";
import { addToCount, decrement, increment, TransientMap } from "../../src/core/maps.js";

describe.each([
  ["a Map", () => new Map<string, number>()],
  ["a TransientMap", () => new TransientMap<number>()],
])("addToCount(), increment() and decrement() with %s", (_, create) => {
  it("count each key", () => {
    const counts = create();
    expect([increment(counts, "a"), increment(counts, "b"), increment(counts, "a")]).toEqual([1, 1, 2]);
    expect(decrement(counts, "a")).toBe(1);
    expect([counts.get("a"), counts.get("b")]).toEqual([1, 1]);
  });

  it("delete a count of 0", () => {
    const counts = create();
    increment(counts, "a");
    expect([decrement(counts, "a"), decrement(counts, "a")]).toEqual([0, 0]);
    expect([counts.has("a"), counts.size]).toEqual([false, 0]);
  });

  it("add any number, and keep no count below 1", () => {
    const counts = create();
    expect([addToCount(counts, "a", 5), addToCount(counts, "a", -2), counts.get("a")]).toEqual([5, 3, 3]);
    expect([addToCount(counts, "a", -3), addToCount(counts, "b", -1), counts.size]).toEqual([0, -1, 0]);
  });
});
