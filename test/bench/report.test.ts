import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { GOALS, judge } from "../../bench/goals.js";
import { readResults } from "../../bench/harness/results.js";
import { readProfiles } from "../../bench/profile/record.js";
import { documents, filledReadme, PAGES, README } from "../../bench/report/documents.js";

const root = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

describe("the pages of benchmarks", () => {
  const made = documents(read, readResults(), readProfiles());

  it.each([...made])("%s is what npm run bench:report makes of the kept results", (path, content) => {
    expect(read(path)).toBe(content);
  });

  it("shows every chart", () => {
    const links = PAGES.flatMap((page) => [...read(page).matchAll(/\]\((?:benchmarks\/)?([\w-]+\.svg)\)/g)]);
    const shown = [...new Set(links.map(([, name]) => `docs/benchmarks/${name}`))];
    expect(shown.sort()).toEqual([...made.keys()].filter((path) => path.endsWith(".svg")).sort());
  });

  it("refuses results that lack a scenario, and names it", () => {
    const { scenarios, ...others } = readResults();
    const { memory: _, ...fewer } = scenarios;
    expect(() => documents(read, { ...others, scenarios: fewer }, readProfiles())).toThrow(
      /scenario memory is missing/,
    );
  });

  it("refuses results whose scenario was skipped", () => {
    const results = readResults();
    const memory = {
      date: "2026-01-01T00:00:00.000Z",
      commit: "abc",
      quick: false,
      seconds: 3,
      skipped: "no time left",
    };
    const without = { ...results, scenarios: { ...results.scenarios, memory } };
    expect(() => documents(read, without, readProfiles())).toThrow(/scenario memory was skipped: no time left/);
  });
});

describe("README.md", () => {
  const readme = read(README);

  it("has the figures of the kept results", () => {
    expect(readme).toBe(filledReadme(readme, readResults()));
  });

  it("needs a row for each of them", () => {
    expect(() => filledReadme(readme.replace("Memory at rest", "Memory"), readResults())).toThrow(/"Memory at rest"/);
  });
});

describe("the kept results", () => {
  const { goals, scenarios } = readResults();

  it("name every goal, in the order of the list", () => {
    expect(goals.map(({ goal }) => goal)).toEqual(Object.keys(GOALS));
  });

  it("judge each measured goal by its bound", () => {
    for (const { goal, value, met } of goals) {
      expect({ goal, met }).toEqual({ goal, met: value === undefined ? undefined : judge(goal, value).met });
    }
  });

  it("have the scenario of every goal", () => {
    const missing = Object.values(GOALS).filter(({ scenario }) => scenarios[scenario] === undefined);
    expect(missing).toEqual([]);
  });
});
