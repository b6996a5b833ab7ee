import { GOALS, type Goal, type GoalName } from "../goals.js";
import type { Results } from "../harness/results.js";
import type { Row, Section } from "../harness/scenario.js";

/** Returns the result of a run for a scenario. @throws Error if it was not measured */
export function sectionOf({ scenarios }: Results, name: string): Section {
  const found = scenarios[name];
  if (found !== undefined && "rows" in found) return found;
  const why =
    found === undefined ? "is missing" : "error" in found ? `failed: ${found.error}` : `was skipped: ${found.skipped}`;
  throw new Error(`the results cannot be reported, scenario ${name} ${why}; run npm run bench`);
}

export function rowOf(results: Results, scenario: string, name: string): Row {
  const row = sectionOf(results, scenario).rows.find((one) => one.name === name);
  if (row === undefined) throw new Error(`the results cannot be reported, scenario ${scenario} has no row ${name}`);
  return row;
}

/** A figure of a row. @throws Error when it is not there */
export function figureOf({ name, figures }: Row, column: string): number {
  const value = figures[column];
  if (typeof value !== "number") throw new Error(`the results cannot be reported, row ${name} has no ${column}`);
  return value;
}

/** The bound of a goal, to be drawn. */
export function boundOf(name: GoalName): number {
  const { atLeast, atMost }: Goal = GOALS[name];
  return atLeast ?? atMost ?? Number.NaN;
}

/** The rows of a scenario as lines over `at`, by series. */
export function linesOf({ rows }: Section, column: string): { name: string; points: { x: number; y: number }[] }[] {
  const lines = new Map<string, { x: number; y: number }[]>();
  for (const { series, at: x, figures } of rows) {
    const y = figures[column];
    if (series === undefined || x === undefined || typeof y !== "number") continue;
    lines.set(series, [...(lines.get(series) ?? []), { x, y }]);
  }
  return [...lines].map(([name, points]) => ({ name, points }));
}
