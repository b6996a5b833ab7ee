import type { Violation } from "./check.js";
import { faults } from "./faults.js";
import type { Injected, Nemesis } from "./nemesis.js";
import type { FinalTask, Noted } from "./records.js";
import type { Replica } from "./replica.js";

export interface Results {
  readonly seed: number;
  readonly store: string;
  readonly seconds: number;
  readonly nemesis: Pick<Nemesis, "injected" | "skipped">;
  readonly notes: readonly Noted[];
  readonly tasks: readonly FinalTask[];
  readonly settledMs: number;
  readonly replicas: readonly Pick<Replica, "name" | "ends">[];
  readonly violations: readonly Violation[];
}

/** Counts of a run by name. */
export function countsOf({ notes, tasks }: Pick<Results, "notes" | "tasks">): Readonly<Record<string, number>> {
  const count = (kind: Noted["kind"]): number => notes.filter((note) => note.kind === kind).length;
  return {
    tasks: tasks.length,
    "messages acknowledged": new Set(notes.flatMap((note) => (note.kind === "acknowledged" ? [note.message] : [])))
      .size,
    "events seen": count("event"),
    "states seen": count("task"),
    "streams resumed": count("resumed"),
    "cancels answered": count("canceled"),
    "calls failed and repeated": count("failed"),
    webhooks: count("hooked"),
    notifications: count("notified"),
    "sub-tasks": tasks.filter(({ parent }) => parent !== undefined).length,
  };
}

/** The results as Markdown. */
export function reportOf(results: Results): string {
  const { seed, store, seconds, nemesis, violations, settledMs, replicas } = results;
  const rows = Object.entries(faults).map(([name, { title }]) => {
    const why = nemesis.skipped.get(name);
    const some = nemesis.injected.filter((one) => one.name === name);
    if (why !== undefined || some.length === 0)
      return `| ${title} | 0 | | | ${why === undefined ? "" : `skipped: ${why}`} |`;
    const held = `${seconds1(median(some, "heldMs"))}`;
    const worst = Math.max(...some.map(({ recoveredMs }) => recoveredMs));
    return `| ${title} | ${some.length} | ${held} | ${seconds1(median(some, "recoveredMs"))} | ${seconds1(worst)} |`;
  });
  const counts = Object.entries(countsOf(results)).map(([name, count]) => `${name}: ${count}`);
  const ends = replicas.flatMap(({ name, ends }) => [...ends].map(([how, count]) => `${name} with ${how}: ${count}`));
  return [
    `Seed ${seed}, ${store}, ${Math.round(seconds)} s of faults.`,
    "",
    "| Fault | Times | Median length, s | Works again, median s | Works again, longest s |",
    "| --- | ---: | ---: | ---: | ---: |",
    ...rows,
    "",
    `${counts.join(", ")}.`,
    `All tasks had ended ${seconds1(settledMs)} s after the last fault.`,
    ...(ends.length > 0 ? [`Ended by themselves and started again: ${ends.join(", ")}.`] : []),
    `Violations: ${violations.length}`,
    ...violations.slice(0, 40).map(({ rule, what }) => `- ${rule}: ${what}`),
    "",
  ].join("\n");
}

/** Parts of a report that tests compare. */
export interface ReportRead {
  /** Number of injected faults of all kinds. */
  readonly injected: number;
  /** Reasons of skipped faults by their titles. */
  readonly skipped: ReadonlyMap<string, string>;
  readonly tasks: number;
  readonly violations: number;
}

/** Reads a report of `reportOf` that is surrounded by other lines. */
export function readReport(text: string): ReportRead {
  const rows = [...text.matchAll(/^\| ([^|]+) \| (\d+) \|(?: [^|]*\|){2} (.*) \|$/gm)];
  const reasons = rows.flatMap(([, title = "", , last = ""]): [string, string][] => {
    return last.startsWith("skipped: ") ? [[title, last.slice("skipped: ".length)]] : [];
  });
  return {
    injected: rows.reduce((sum, [, , times]) => sum + Number(times), 0),
    skipped: new Map(reasons),
    tasks: Number(/^tasks: (\d+),/m.exec(text)?.[1]),
    violations: Number(/^Violations: (\d+)$/m.exec(text)?.[1]),
  };
}

/** The reasons of failed calls, the most frequent first. */
export function failuresOf(notes: readonly Noted[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const note of notes) {
    if (note.kind !== "failed") continue;
    const why = `${note.call}: ${note.why}`;
    counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a);
}

function median(some: readonly Injected[], member: "heldMs" | "recoveredMs"): number {
  const sorted = some.map((one) => one[member]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function seconds1(ms: number): string {
  return (ms / 1_000).toFixed(1);
}
