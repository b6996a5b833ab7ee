import { describe, it, type TestOptions } from "vitest";
import { covering } from "./covering.js";

/** The run that a test belongs to: none in `npm test`, `rest` in `.ci/run` after it, or `all` in `npm run test:all`. */
const run: string | undefined = process.env.PARLEY_TESTS;

/** True in a run with the cases that `npm test` leaves out. */
export const isWhole: boolean = run !== undefined;

/** Defines a test or a suite. */
interface Define {
  (name: string, tests: () => void | Promise<void>): void;
  (name: string, options: TestOptions, tests: () => void | Promise<void>): void;
}

const nothing: Define = () => {};

/** `describe` for tests beside a table: `npm test` has them, and the rest does not repeat them. */
export const describeFirst: Define = run === "rest" ? nothing : describe;

/** `it` for a test beside a table. */
export const itFirst: Define = run === "rest" ? nothing : it;

/** Cases of a table: `few` in `npm test`, `others` in the rest, and both in `npm run test:all`. */
export function some<T>(few: readonly T[], others: readonly T[], of = run): readonly T[] {
  if (of === "all") return [...few, ...others];
  return of === "rest" ? others : few;
}

/** The same with a table: `few` is every `nth` case, such as the one at `from`. */
export function everyNth<T>(table: readonly T[], nth: number, from = 0, of = run): readonly T[] {
  if (of === "all") return table;
  return table.filter((_, at) => (at % nth === from % nth) === (of !== "rest"));
}

/** The same with a table: `few` are the cases that `covering` chooses. */
export function cover<T>(table: readonly T[], traits: (one: T) => readonly string[], of = run): readonly T[] {
  const few = new Set(covering(table, traits));
  const others = table.filter((one) => !few.has(one));
  const taken = new Set(some([...few], others, of));
  return table.filter((one) => taken.has(one));
}
