import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textSize } from "../../src/task/size.js";

const inJson = (text: string): number => Buffer.byteLength(JSON.stringify(text));

describe("textSize()", () => {
  it("is that of JSON, wherever a long text is cut to be looked at", () => {
    const piece = fc.constantFrom("x", "é", "\u{1f600}", '"', "\\", "\n", "\u0001", "plain text. ".repeat(300));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), fc.nat(12), (pieces, before) => {
        const text = `${"a".repeat(before)}${"b".repeat(4_090)}${pieces.join("")}${"\u{1f600}".repeat(5_000)}`;
        expect(textSize(text)).toBe(inJson(text));
      }),
      { numRuns: 50 },
    );
  });

  it("has room for the escapes of a stream of events", () => {
    const text = "\u2028".repeat(9_000);
    expect(textSize(text)).toBeGreaterThanOrEqual(inJson(text) + 3 * text.length);
  });
});
