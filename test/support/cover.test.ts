import { describe, expect, it } from "vitest";
import { cover, everyNth } from "./cover.js";

describe("cover()", () => {
  it("takes a part of a table in npm test, the other cases in the rest, and in test:all the whole table", () => {
    const table = ["ax", "ay", "bx", "by"];
    const casesOf = (run: string | undefined) => cover(table, (one) => [...one], run);
    expect(casesOf("all")).toEqual(table);
    expect(casesOf("rest")).toEqual(["ay", "bx"]);
    // The text stands for npm test. `undefined` would stand for the present run.
    expect(casesOf("")).toEqual(["ax", "by"]);
  });
});

describe("everyNth()", () => {
  it("takes every nth case in npm test, the other cases in the rest, and in test:all the whole table", () => {
    const table = [0, 1, 2, 3, 4, 5, 6];
    const casesOf = (run: string, from?: number) => everyNth(table, 3, from, run);
    expect(casesOf("all", 1)).toEqual(table);
    expect([casesOf(""), casesOf("rest")]).toEqual([
      [0, 3, 6],
      [1, 2, 4, 5],
    ]);
    expect([casesOf("", 4), casesOf("rest", 4)]).toEqual([
      [1, 4],
      [0, 2, 3, 5, 6],
    ]);
  });
});
