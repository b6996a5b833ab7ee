import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { covering, pairs } from "./covering.js";

const axis = fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 6 });
const product = (axes: readonly (readonly string[])[]): string[][] =>
  axes.reduce<string[][]>((rows, values) => rows.flatMap((row) => values.map((value) => [...row, value])), [[]]);
const pairsOf = (rows: readonly string[][]): Set<string> => new Set(rows.flatMap((row) => pairs(...row)));

/** Tables of two to four axes, some of whose combinations do not exist. */
const tables = fc
  .array(axis, { minLength: 2, maxLength: 4 })
  .chain((axes) => fc.subarray(product(axes), { minLength: 1 }));

describe("covering()", () => {
  it("meets every pair of values of the table, by cases of the table in its order", () => {
    fc.assert(
      fc.property(tables, (table) => {
        const chosen = covering(table, (row) => pairs(...row));
        expect(pairsOf(chosen)).toEqual(pairsOf(table));
        expect(chosen).toEqual(table.filter((row) => chosen.includes(row)));
      }),
      { numRuns: 100 },
    );
  });

  it("chooses the same cases each time, none of them for nothing", () => {
    fc.assert(
      fc.property(tables, (table) => {
        const chosen = covering(table, (row) => pairs(...row));
        expect(covering(table, (row) => pairs(...row))).toEqual(chosen);
        expect(chosen.length).toBeLessThanOrEqual(pairsOf(table).size);
      }),
      { numRuns: 50 },
    );
  });

  it("takes a small part of a product of three axes", () => {
    const letters = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i));
    const table = product([letters(9), letters(8), letters(14)]);
    expect(covering(table, (row) => pairs(...row)).length).toBeLessThan(table.length / 5);
  });
});

describe("pairs()", () => {
  it("tells the same values on other axes apart", () => {
    expect(pairs("a", "b", "a")).toHaveLength(3);
    expect(new Set(pairs("a", "b", "a")).size).toBe(3);
  });
});
