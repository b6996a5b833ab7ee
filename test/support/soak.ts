import { covering } from "./covering.js";

/**
 * True in a soak, which has long loops and whole tables: `npm run test:all`, and any run with `PARLEY_SOAK`. `npm test` and
 * `.ci/run` have short loops otherwise.
 */
export const isSoak: boolean = process.env.PARLEY_TESTS === "all" || process.env.PARLEY_SOAK !== undefined;

/** A size of loops and samples: `short`, or `long` in a soak. */
export function scaled(short: number, long: number): number {
  return isSoak ? long : short;
}

/** The cases of a table that `covering` chooses, or the whole table in a soak. */
export function sample<T>(table: readonly T[], traits: (one: T) => readonly string[]): readonly T[] {
  return isSoak ? table : covering(table, traits);
}
