import type { Results } from "../harness/results.js";
import type { Profiles } from "../profile/record.js";
import { charts } from "./charts.js";
import { sectionOf } from "./found.js";
import { goals, profile, provenance, section } from "./tables.js";

const FOLDER = "docs/benchmarks";

/** The page whose tables stand between `<!-- begin: NAME -->` and `<!-- end: NAME -->`. */
export const PAGE = `${FOLDER}.md`;

function table(name: string, results: Results, profiles: Profiles): string {
  if (name === "run") return provenance(results);
  if (name === "goals") return goals(results);
  if (name === "profile") return profile(profiles);
  return section(sectionOf(results, name));
}

/** Puts the tables of a run into the page. @throws Error when the run lacks one of them */
function filledPage(page: string, results: Results, profiles: Profiles): string {
  return page.replace(
    /(<!-- begin: ([\w-]+) -->\n)[\s\S]*?(<!-- end: \2 -->)/g,
    (_, begin: string, name: string, end: string) => `${begin}\n${table(name, results, profiles)}\n\n${end}`,
  );
}

/** All that is made of a run, by path. @param page the page as it is */
export function documents(page: string, results: Results, profiles: Profiles): Map<string, string> {
  const pictures = Object.entries(charts(results)).map(([name, svg]) => [`${FOLDER}/${name}`, svg] as const);
  return new Map([[PAGE, filledPage(page, results, profiles)], ...pictures]);
}
