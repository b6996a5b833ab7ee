import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import type { Options } from "../options.js";
import type { Row, Section, Target } from "./scenario.js";

const ROOT = join(import.meta.dirname, "..", "..");

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

/** What the figures depend on. */
export interface Machine {
  readonly node: string;
  readonly platform: string;
  readonly cpus: number;
  readonly cpu: string;
  /** Processes that wanted a core before the bench began, on average: with many, only ratios mean something. */
  readonly loadBefore: number;
}

export function describeMachine(): Machine {
  const [first] = cpus();
  const [loadBefore = 0] = loadavg();
  return {
    node: process.version,
    platform: process.platform,
    cpus: cpus().length,
    cpu: first?.model ?? "",
    loadBefore,
  };
}

export function machineLine({ node, platform, cpus: count, cpu, loadBefore }: Machine): string {
  return `node ${node}, ${platform}, ${count} x ${cpu}, load ${loadBefore.toFixed(1)} before`;
}

/**
 * Keeps the results of a run for whoever compares them, and gives the place: `results/latest.json` for a full run,
 * a place that nobody commits for a part or a quick look.
 */
export function keep({ quick, seconds, only }: Options, machine: Machine, found: Found): string {
  const place = quick || only.length > 0 ? "bench/results/tmp/latest.json" : "bench/results/latest.json";
  const rounded = (key: string, value: unknown): unknown =>
    typeof value === "number" && key !== "seconds" ? Number(value.toPrecision(4)) : value;
  const results = { date: new Date().toISOString(), machine, options: { quick, seconds, only }, scenarios: found };
  writeFileSync(join(ROOT, place), `${JSON.stringify(results, rounded, 2)}\n`);
  return place;
}

/** How many targets were met. */
export function summary(found: Found): string {
  const targets = Object.values(found).flatMap((section) =>
    "rows" in section ? section.rows.flatMap((row) => row.targets ?? []) : [],
  );
  const met = targets.filter((target) => target.met).length;
  return `${met} of ${targets.length} targets met.`;
}
