import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GOALS, type Goal, type GoalName, type Judged } from "../goals.js";
import type { Options } from "../options.js";
import type { Machine } from "./machine.js";
import type { Section } from "./scenario.js";

const ROOT = join(import.meta.dirname, "..", "..");

/** When, and of which code, and how thoroughly a scenario was measured. */
export interface Made {
  readonly date: string;
  /** Of git; with a plus when files were changed that are not in it. */
  readonly commit: string;
  /** Version of Node.js. Results of before it was kept lack it. */
  readonly node?: string;
  readonly quick: boolean;
  readonly seconds: number;
}

/** The result of a run for one scenario. */
export type Found = Made & (Section | { readonly error: string } | { readonly skipped: string });

/** Outcome of a goal. One that was not measured has no value, and is neither met nor missed. */
export interface Outcome extends Goal, Partial<Omit<Judged, "goal">> {
  readonly goal: GoalName;
}

export interface Results {
  readonly machine: Machine;
  readonly goals: readonly Outcome[];
  /** By the names of the scenarios. */
  readonly scenarios: Readonly<Record<string, Found>>;
}

/** File of the last full run, which is committed, and file of partial and quick runs, which is not. */
export const LATEST = "bench/results/latest.json";
export const PARTS = "bench/results/tmp/latest.json";

const git = (...args: string[]): string => spawnSync("git", args, { cwd: ROOT, encoding: "utf8" }).stdout.trim();

export function made({ quick, seconds }: Options): Made {
  const dirty = git("status", "--porcelain", "--", "src", "bench", ":!bench/results") === "" ? "" : "+";
  const commit = git("rev-parse", "--short", "HEAD") + dirty;
  return { date: new Date().toISOString(), commit, node: process.version, quick, seconds };
}

/** Every goal of the project, beside what was found about it. */
export function outcomes(scenarios: Results["scenarios"]): Outcome[] {
  const rows = Object.values(scenarios).flatMap((found) => ("rows" in found ? found.rows : []));
  const judged = new Map(rows.flatMap(({ targets = [] }) => targets.map((target) => [target.goal, target] as const)));
  return (Object.keys(GOALS) as GoalName[]).map((goal) => ({ goal, ...GOALS[goal], ...judged.get(goal) }));
}

export function readResults(place: string = LATEST): Results {
  return JSON.parse(readFileSync(join(ROOT, place), "utf8")) as Results;
}

/**
 * Keeps the results of a run for whoever compares them, and gives the place. What a part measured is put beside what
 * other parts did before.
 */
export function keep(
  { quick, only, keep: isKept }: Options,
  machine: Machine,
  scenarios: Results["scenarios"],
): string {
  const isWhole = !quick && only.length === 0;
  const place = isWhole || isKept ? LATEST : PARTS;
  const before = !isWhole && existsSync(join(ROOT, place)) ? readResults(place) : undefined;
  const all = { ...before?.scenarios, ...scenarios };
  // The kept results describe the machine of the full run.
  const results: Results = { machine: (isKept && before?.machine) || machine, goals: outcomes(all), scenarios: all };
  const rounded = (_: string, value: unknown): unknown => {
    if (typeof value !== "number") return value;
    return Number.isFinite(value) ? Number(value.toPrecision(4)) : undefined;
  };
  writeFileSync(join(ROOT, place), `${JSON.stringify(results, rounded, 2)}\n`);
  return place;
}
