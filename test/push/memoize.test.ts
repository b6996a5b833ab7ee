import { describe, expect, it, vi } from "vitest";
import { memoized } from "../../src/push/memoize.js";

describe("memoized()", () => {
  it("makes the result of each text once", () => {
    const make = vi.fn((text: string) => ({ text }));
    const remember = memoized(make);
    const first = remember("a");
    expect(remember("b")).toEqual({ text: "b" });
    expect(remember("a")).toBe(first);
    expect(make.mock.calls).toEqual([["a"], ["b"]]);
  });

  it("keeps 256 results at most", () => {
    const make = vi.fn((text: string) => ({ text }));
    const remember = memoized(make);
    for (let i = 0; i <= 256; i++) remember(`${i}`);
    remember("256");
    expect(make).toHaveBeenCalledTimes(257);
    remember("0");
    expect(make).toHaveBeenCalledTimes(258);
  });

  it("keeps nothing of a text that makes it throw", () => {
    const make = vi
      .fn((text: string) => ({ text }))
      .mockImplementationOnce(() => {
        throw new Error("not now");
      });
    const remember = memoized(make);
    expect(() => remember("a")).toThrow("not now");
    expect(remember("a")).toEqual({ text: "a" });
  });
});
