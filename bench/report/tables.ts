/** The tables of docs/benchmarks.md and docs/benchmarks/, in Markdown. */
import { boundOf } from "../goals.js";
import { columnsOf, judgedText, shown, verdict } from "../harness/report.js";
import type { Results } from "../harness/results.js";
import type { Section } from "../harness/scenario.js";
import type { Profiles } from "../profile/record.js";

type Cells = readonly string[];

/** A table whose first columns are text, and whose others are numbers; the last one is text again when it says so. */
function markdown(head: Cells, rows: readonly Cells[], texts: number, isLastText = false): string {
  const isText = (index: number): boolean => index < texts || (isLastText && index === head.length - 1);
  const lines = [head, ...rows].map((cells) => cells.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, index) => Math.max(3, ...lines.map((cells) => cells[index]?.length ?? 0)));
  const rule = widths.map((width, index) => (isText(index) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  const padded = ([first = [], ...rest]: readonly Cells[]): Cells[] =>
    [first, rule, ...rest].map((cells) =>
      cells.map((cell, index) => (isText(index) ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))),
    );
  return padded(lines)
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** Breaks an item of a list into lines of at most 100 characters. */
const wrapped = (item: string): string => item.replace(/(.{1,98})(?: |$)/g, "$1\n  ").trimEnd();

/** When, where and of what the figures are. */
export function provenance({ machine, scenarios }: Results): string {
  const all = Object.values(scenarios).filter((found) => "rows" in found);
  const commits = [...new Set(all.map(({ commit }) => commit))].join(", ");
  const dates = [...new Set(all.map(({ date }) => date.slice(0, 10)))].join(", ");
  const isQuick = all.some(({ quick }) => quick);
  const thorough = isQuick
    ? "**A quick look** (`--quick`): servers that are not warm, and small growth. It judges no goal."
    : `A full run, ${[...new Set(all.map(({ seconds }) => seconds))].join(", ")} s of load for each rate.`;
  const elsewhere = Object.entries(scenarios)
    .filter(([, { node = machine.node }]) => node !== machine.node)
    .map(([name, { node }]) => `- ${name}: Node.js ${node}.`);
  const versions = Object.entries(machine.versions).map((pair) => pair.join(" "));
  return [
    `- ${thorough}`,
    `- ${dates}, commit ${commits}.`,
    `- ${machine.cpus} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.platform}, Node.js ${machine.node}; load before the run ${shown(machine.loadBefore)}; an fsync of 4 KB takes ${shown(machine.fsyncMicros)} µs.`,
    `- ${versions.join(", ")}.`,
    ...elsewhere,
  ]
    .map(wrapped)
    .join("\n");
}

export function goals({ goals: all }: Results): string {
  const rows = all.map((goal) => [
    goal.what,
    goal.against,
    boundOf(goal),
    goal.value === undefined ? "" : `${goal.orMore ? "≥ " : ""}${shown(goal.value)}`,
    shown(goal.byCpu),
    verdict(goal).replace("MISSED", "**missed**"),
  ]);
  return markdown(["what", "against", "goal", "found", "by CPU", ""], rows, 2, true);
}

/** A scenario as it is printed by the bench. */
export function section(found: Section): string {
  const columns = columnsOf(found);
  const hasRemarks = found.rows.some(({ targets = [], note }) => targets.length > 0 || note !== undefined);
  const rows = found.rows.map(({ name, figures, targets = [], note = "" }) => {
    const remarks = [...targets.map(judgedText), note].filter((text) => text !== "").join("; ");
    return [name, ...columns.map((column) => shown(figures[column])), ...(hasRemarks ? [remarks] : [])];
  });
  return markdown(["", ...columns, ...(hasRemarks ? ["goal"] : [])], rows, 1, hasRemarks);
}

/** Self time by package and folder, one column for each scenario that was looked into. */
export function profile(profiles: Profiles): string {
  const all = Object.entries(profiles);
  const names = [...new Set(all.flatMap(([, { groups }]) => groups.map(({ name }) => name)))];
  const micros = (group: string): number[] =>
    all.map(([, { groups }]) => groups.find(({ name }) => name === group)?.microsPerCall ?? 0);
  const rows = names
    .map((name) => ({ name, values: micros(name) }))
    .filter(({ values }) => values.some((value) => value >= 1))
    .sort((a, b) => Math.max(...b.values) - Math.max(...a.values))
    .map(({ name, values }) => [name, ...values.map((value) => (value < 0.05 ? "" : value.toFixed(1)))]);
  const total = (name: string, of: (one: Profiles[string]) => number): Cells => [
    `**${name}**`,
    ...all.map(([, one]) => of(one).toFixed(1)),
  ];
  const main = total("main thread", (one) => one.mainMicrosPerCall);
  const others = total("other threads", (one) => one.otherThreadsMicrosPerCall);
  const table = markdown(["µs per call", ...all.map(([name]) => name)], [...rows, main, others], 1);
  const commits = [...new Set(all.map(([, { commit }]) => commit))].join(", ");
  const dates = [...new Set(all.map(([, { date }]) => date.slice(0, 10)))].join(", ");
  return `${dates}, commit ${commits}.\n\n${table}`;
}
