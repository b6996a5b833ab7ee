import { shown } from "../harness/report.js";
import type { Results } from "../harness/results.js";
import type { Profiles } from "../profile/record.js";
import { charts } from "./charts.js";
import { figureOf, rowOf, sectionOf } from "./found.js";
import { goals, profile, provenance, section } from "./tables.js";

const FOLDER = "docs/benchmarks";

/** The pages with tables of a run, between `<!-- begin: NAME -->` and `<!-- end: NAME -->`. */
export const PAGES: readonly string[] = [
  `${FOLDER}.md`,
  ...["replies", "tasks", "growth", "postgres", "profile"].map((topic) => `${FOLDER}/${topic}.md`),
];

/** The page that names some of the figures beside those of the peer. */
export const README = "README.md";

/** Rows of the table in the README: scenario, column, and the lanes of its first two figures. */
const README_ROWS: Readonly<Record<string, readonly [string, string, string, string]>> = {
  "Tasks a second": ["jsonrpc-tasks", "calls/s", "Parley, SQLite FULL", "peer, in memory"],
  "A stream of 10,000 pieces": [
    "sse-streams",
    "ms",
    "10,000 chunks, Parley, SQLite FULL",
    "10,000 chunks, peer, in memory",
  ],
  "Start to first answer": ["start-up", "ms to first answer", "Parley, new file", "@a2a-js/sdk, in memory"],
  "Memory at rest": ["start-up", "MB RSS at rest", "Parley, new file", "@a2a-js/sdk, in memory"],
};

/** Puts the figures of a run into the README. @throws Error when a row or a figure is missing */
export function filledReadme(readme: string, results: Results): string {
  return Object.entries(README_ROWS).reduce((text, [title, [scenario, column, ours, theirs]]) => {
    const row = new RegExp(`^(\\| \\[${title}\\]\\([^)]*\\) *\\|)([^|]*)\\|([^|]*)`, "m");
    if (!row.test(text)) throw new Error(`${README} has no row "${title}"`);
    const figure = (lane: string): string => shown(figureOf(rowOf(results, scenario, lane), column));
    // A cell keeps its width, so that the table keeps its columns.
    const filled = (cell: string, lane: string): string =>
      cell
        .replace(/[\d,.]*\d/, figure(lane))
        .trimEnd()
        .padEnd(cell.length);
    return text.replace(
      row,
      (_, head: string, first: string, second: string) => `${head}${filled(first, ours)}|${filled(second, theirs)}`,
    );
  }, readme);
}

function table(name: string, results: Results, profiles: Profiles): string {
  if (name === "run") return provenance(results);
  if (name === "goals") return goals(results);
  if (name === "profile") return profile(profiles);
  return section(sectionOf(results, name));
}

/** Puts the tables of a run into a page. @throws Error when the run lacks one of them */
function filledPage(page: string, results: Results, profiles: Profiles): string {
  return page.replace(
    /(<!-- begin: ([\w-]+) -->\n)[\s\S]*?(<!-- end: \2 -->)/g,
    (_, begin: string, name: string, end: string) => `${begin}\n${table(name, results, profiles)}\n\n${end}`,
  );
}

/** Everything that is generated from a run, by path. @param read returns the present text of a page */
export function documents(read: (page: string) => string, results: Results, profiles: Profiles): Map<string, string> {
  const pages = PAGES.map((page) => [page, filledPage(read(page), results, profiles)] as const);
  const pictures = Object.entries(charts(results)).map(([name, svg]) => [`${FOLDER}/${name}`, svg] as const);
  return new Map([...pages, ...pictures]);
}
