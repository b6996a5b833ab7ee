import { describe, expect, it } from "vitest";
import { isTraceParent, newId } from "../../src/core/ids.js";

describe("newId()", () => {
  // More ids than one stock of random bytes provides.
  const before = Date.now();
  const ids = Array.from({ length: 5_000 }, newId);
  const after = Date.now();

  it("makes UUIDs of version 7 that tell the time (RFC 9562, 5.7)", () => {
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
      expect(ms).toBeGreaterThanOrEqual(before);
      expect(ms).toBeLessThanOrEqual(after);
    }
  });

  it("makes no two that are the same, and uses every random digit", () => {
    expect(new Set(ids).size).toBe(ids.length);
    const random = [20, 21, 22, ...Array.from({ length: 12 }, (_, i) => 24 + i)];
    for (const place of random) expect(new Set(ids.map((id) => id[place])).size).toBe(16);
    expect(new Set(ids.map((id) => id[19]))).toEqual(new Set("89ab"));
  });

  it("makes them in the order of their text, also within a millisecond (RFC 9562, 6.2)", () => {
    for (let round = 0; round < 20; round++) {
      const few = Array.from({ length: 200 }, newId);
      expect(few.toSorted()).toEqual(few);
    }
  });
});

describe("isTraceParent()", () => {
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const span = "00f067aa0ba902b7";

  it.each([
    `00-${trace}-${span}-01`,
    `00-${trace}-${span}-ff`,
    `01-${trace}-${span}-01`,
    `01-${trace}-${span}-01-`,
    `cc-${trace}-${span}-01-later`,
    `01-${trace}-${span}-01-${"x".repeat(200)}`,
  ])("accepts %s", (text) => {
    expect(isTraceParent(text)).toBe(true);
  });

  it.each([
    ["an empty text", ""],
    ["a trace of zeros", `00-${"0".repeat(32)}-${span}-01`],
    ["a span of zeros", `00-${trace}-${"0".repeat(16)}-01`],
    ["a later version with a trace of zeros", `01-${"0".repeat(32)}-${span}-01-x`],
    ["version ff", `ff-${trace}-${span}-01`],
    ["a version 00 that continues", `00-${trace}-${span}-01-x`],
    ["a version 00 that ends with a hyphen", `00-${trace}-${span}-01-`],
    ["a later version that continues without a hyphen", `01-${trace}-${span}-01x`],
    ["capital letters", `00-${trace.toUpperCase()}-${span}-01`],
    ["more than 256 characters", `01-${trace}-${span}-01-${"x".repeat(201)}`],
    ["characters that gRPC cannot pass on", `01-${trace}-${span}-01-\u00e9`],
    ["two joined headers", `00-${trace}-${span}-01, 00-${trace}-${span}-01`],
  ])("rejects %s", (_what, text) => {
    expect(isTraceParent(text)).toBe(false);
  });
});
