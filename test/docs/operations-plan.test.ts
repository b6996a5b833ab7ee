import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readResults } from "../../bench/harness/results.js";
import { figureOf, rowOf } from "../../bench/report/found.js";
import type { Role } from "../../src/admin/methods.js";
import type { Agent } from "../../src/agent/agent.js";
import { flags } from "../../src/cli/flags.js";
import { pageText, root } from "./pages.js";

const page = pageText("docs/operations.md");
const numberOf = (text = ""): number => Number(text.replaceAll(",", ""));

/** The first figure in a row of the page's table. */
function stated(what: string): string {
  const row = page.split("\n").find((line) => line.startsWith(`| ${what} `)) ?? "";
  return /^[^|]*\|[^|]*\| \[?([\d.,]+)/.exec(row)?.[1] ?? `no row ${what}`;
}

/** The measurement of each row's figure: scenario, row and column. */
const measured: Readonly<Record<string, readonly [scenario: string, row: string, column: string]>> = {
  "Memory at rest": ["start-up", "Parley, new file", "MB RSS at rest"],
  "Memory of a silent stream": ["idle", "10,000", "KB RSS each"],
  "Short tasks a second, synced to disk": ["jsonrpc-tasks", "Parley, SQLite FULL", "calls/s"],
  "Start to the first answer": ["start-up", "Parley, new file", "ms to first answer"],
};

describe("the sizes on docs/operations.md", () => {
  it.each(Object.entries(measured))("%s: are those of the kept results", (what, [scenario, row, column]) => {
    const figure = figureOf(rowOf(readResults(), scenario, row), column);
    const text = stated(what);
    const digits = text.split(".")[1]?.length ?? 0;
    expect(text).toBe(figure.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  });

  // `test/docs/operations.test.ts` measures the sizes on disk.
  it("add up to the disk of the example", () => {
    const example =
      /([\d,]+) tasks a day of (\d+) pieces, kept for (\d+) days, take\s+(.+) × (.+) × \((.+) \+ (.+) × (.+)\) KB = (\d+) GB/;
    const [, tasks, pieces, days, ...sum] = example.exec(page) ?? [];
    const [task, piece] = [stated("Disk of a task that echoes a short text"), stated("Disk of each further piece")];
    const kilobytes = numberOf(tasks) * numberOf(days) * (numberOf(task) + numberOf(pieces) * numberOf(piece));
    expect(sum).toEqual([tasks, days, task, pieces, piece, String(Math.round(kilobytes / 1e6))]);
  });

  it("add up to the memory of the example", () => {
    const example = /([\d,]+) open streams take (.+) MB \+ (.+) × (.+) KB =\s(\d+) MB\..* an MB is 1,024 KB/;
    const [, streams, ...sum] = example.exec(page) ?? [];
    const [rest, each] = [stated("Memory at rest"), stated("Memory of a silent stream")];
    const megabytes = numberOf(rest) + (numberOf(streams) * numberOf(each)) / 1_024;
    expect(sum).toEqual([rest, streams, each, String(Math.round(megabytes))]);
  });
});

/** Names on the checklist that are not options. */
const others: readonly (keyof Agent | Role | "https")[] = ["security", "read", "write", "https"];

describe("the security checklist on docs/operations.md", () => {
  const [, list = ""] = page.split("## Security checklist\n");
  const items = list.split("- [ ]").slice(1);

  it.each(items)("names an option, a field or a folder that exists:%s", (item) => {
    const names = [...item.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    const exists = (name: string): boolean =>
      flags.some(({ flag }) => flag === name) ||
      others.some((other) => other === name) ||
      (name.includes("/") && existsSync(join(root, name)));
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !exists(name))).toEqual([]);
  });

  it("has every item", () => {
    expect(items).toHaveLength(9);
  });
});
