import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Options } from "../options.js";
import type { Row, Section, Target } from "./scenario.js";

const RESULTS = join(import.meta.dirname, "..", "results");

/** A figure with as many digits as mean something. */
function shown(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "";
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const judged = ({ text, met }: Target): string => `${text}: ${met ? "met" : "MISSED"}`;

/** A section as a table. */
export function table({ title, rows }: Section): string {
  const columns = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))];
  const lines = [["", ...columns, "target"], ...rows.map((row) => cells(row, columns))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index + 1]?.length ?? 0)));
  const nameWidth = Math.max(...lines.map(([name = ""]) => name.length));
  const text = lines.map(([name = "", ...rest]) => {
    const figures = rest.slice(0, -1).map((cell, index) => cell.padStart(widths[index] ?? 0));
    return `  ${[name.padEnd(nameWidth), ...figures, rest.at(-1) ?? ""].join("  ")}`.trimEnd();
  });
  return [title, ...text].join("\n");
}

function cells({ name, figures, targets = [] }: Row, columns: readonly string[]): string[] {
  return [name, ...columns.map((column) => shown(figures[column])), targets.map(judged).join("; ")];
}

/** What a run found, by the names of the scenarios. */
export type Found = Readonly<Record<string, Section | { readonly error: string }>>;

/** Keeps the results of a run for whoever compares them: `bench/results/latest.json`. */
export function keep(options: Options, found: Found): void {
  const rounded = (key: string, value: unknown): unknown =>
    typeof value === "number" && key !== "seconds" ? Number(value.toPrecision(4)) : value;
  const { quick, seconds } = options;
  const machine = { node: process.version, platform: process.platform, cpus: cpus().length, cpu: cpus()[0]?.model };
  const results = { date: new Date().toISOString(), machine, options: { quick, seconds }, scenarios: found };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, "latest.json"), `${JSON.stringify(results, rounded, 2)}\n`);
}

/** How many targets were met. */
export function summary(found: Found): string {
  const targets = Object.values(found).flatMap((section) =>
    "rows" in section ? section.rows.flatMap((row) => row.targets ?? []) : [],
  );
  const met = targets.filter((target) => target.met).length;
  return `${met} of ${targets.length} targets met.`;
}
