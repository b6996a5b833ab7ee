import { describe, expect, it } from "vitest";
import { cover } from "./cover.js";

describe("cover()", () => {
  it("takes a part of a table in npm test, the other cases in the rest, and in test:all the whole table", () => {
    const table = ["ax", "ay", "bx", "by"];
    const casesOf = (run: string | undefined) => cover(table, (one) => [...one], run);
    expect(casesOf("all")).toEqual(table);
    expect(casesOf("rest")).toEqual(["ay", "bx"]);
    // What npm test takes: `undefined` would be the run of this test.
    expect(casesOf("")).toEqual(["ax", "by"]);
  });
});
