import type { Options } from "../options.js";
import type { Load, TestServer } from "./child.js";

/** How many callers wait for answers at once, in every rate. */
export const CALLERS = 50;

/** A goal of the project beside what was measured. */
export interface Target {
  readonly text: string;
  readonly met: boolean;
}

/** One line of a table: figures by the name of their column, which says the unit. */
export interface Row {
  readonly name: string;
  readonly figures: Readonly<Record<string, number>>;
  readonly targets?: readonly Target[];
}

/** What a scenario found. */
export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** What a scenario works with. */
export interface Bench {
  readonly options: Options;
  readonly load: Load;
  /** Starts a server that ends with the scenario. */
  start(program: string, ...args: string[]): Promise<TestServer>;
  /** Path of a new SQLite file, on disk, removed with the scenario. */
  database(): string;
}

export interface Scenario {
  readonly name: string;
  run(bench: Bench): Promise<Section>;
}

/** A goal for a ratio or a figure that should not be below, or not be above, a bound. */
export function atLeast(value: number, bound: number, of: string): Target {
  return { text: `>= ${bound} of ${of}`, met: value >= bound };
}

export function atMost(value: number, bound: number, what: string): Target {
  return { text: `<= ${bound} ${what}`, met: value <= bound };
}
