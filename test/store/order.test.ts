import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareIds } from "../../src/store/order.js";
import { scaled } from "../support/soak.js";

describe("compareIds()", { timeout: 60_000 }, () => {
  it("agrees with the bytes of UTF-8", () => {
    const text = fc.string({ unit: "binary", maxLength: 6 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareIds(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
      {
        numRuns: scaled(300, 1_000),
        examples: [
          ["\ufb01", "🚀"],
          ["a", "a"],
          ["", "\0"],
          ["𝒳", "𝒴"],
          ["\ud7ff", "\ue000"],
        ],
      },
    );
  });
});
