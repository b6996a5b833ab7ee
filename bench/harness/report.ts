import { boundOf, GOALS, type Judged } from "../goals.js";
import type { Found, Outcome } from "./results.js";
import type { Row, Section } from "./scenario.js";

/** A figure with as many digits as mean something; nothing for one that there is not. */
export function shown(value: number | null | undefined): string {
  if (value === undefined || value === null || Number.isNaN(value)) return "";
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function judgedText({ goal, met, orMore }: Judged): string {
  return `${boundOf(GOALS[goal])}: ${met ? "met" : "MISSED"}${orMore ? ", at least" : ""}`;
}

/** The columns of a section that have a figure in any row, in the order of the fullest row. */
export function columnsOf({ rows }: Section): string[] {
  const namesOf = ({ figures }: Row): string[] => Object.keys(figures).filter((name) => shown(figures[name]) !== "");
  const names = new Set(
    rows
      .map(namesOf)
      .sort((a, b) => b.length - a.length)
      .flat(),
  );
  return [...names];
}

/** A section as a table. */
export function table(section: Section): string {
  const columns = columnsOf(section);
  const lines = [["", ...columns, "target"], ...section.rows.map((row) => cells(row, columns))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index + 1]?.length ?? 0)));
  const nameWidth = Math.max(...lines.map(([name = ""]) => name.length));
  const text = lines.map(([name = "", ...rest]) => {
    const figures = rest.slice(0, -1).map((cell, index) => cell.padStart(widths[index] ?? 0));
    return `  ${[name.padEnd(nameWidth), ...figures, rest.at(-1) ?? ""].join("  ")}`.trimEnd();
  });
  return [section.title, ...text].join("\n");
}

function cells({ name, figures, targets = [], note }: Row, columns: readonly string[]): string[] {
  const remarks = [...targets.map(judgedText), ...(note === undefined ? [] : [note])];
  return [name, ...columns.map((column) => shown(figures[column])), remarks.join("; ")];
}

/** Returns the outcome of a goal in one or two words. */
export function verdict({ met }: Outcome): string {
  if (met === undefined) return "not measured";
  return met ? "met" : "MISSED";
}

/** Returns the number of measured scenarios, and a line with the reason for each other one. */
export function measuredText(scenarios: Readonly<Record<string, Found>>): string {
  const all = Object.entries(scenarios);
  const missing = all.flatMap(([name, found]) => {
    if ("skipped" in found) return [`SKIPPED ${name}: ${found.skipped}`];
    return "error" in found ? [`FAILED ${name}: ${found.error}`] : [];
  });
  const count = all.length - missing.length;
  const counts = `${count} of ${all.length} scenarios ${count === 1 ? "was" : "were"} measured.`;
  return [counts, ...missing].join("\n");
}

/** One line for each goal, and a count. */
export function summary(goals: readonly Outcome[]): string {
  const lines = goals.map((goal) => {
    const value = goal.value === undefined ? "" : `${goal.orMore ? ">= " : ""}${shown(goal.value)}`;
    const bound = `(${boundOf(goal)})`;
    const byCpu = goal.byCpu === undefined ? "" : `; ${shown(goal.byCpu)} by CPU`;
    return `  ${verdict(goal).padEnd(12)} ${value.padStart(8)} ${bound.padEnd(10)} ${goal.what}, against: ${goal.against}${byCpu}`;
  });
  const count = (met: boolean | undefined): number => goals.filter((goal) => goal.met === met).length;
  const counts = `${count(true)} met, ${count(false)} missed, ${count(undefined)} not measured.`;
  return ["Goals", ...lines, counts].join("\n");
}
