import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Level } from "./requirements/requirement.js";
import { elsewhere, reasons, requirements } from "./requirements.js";
import { rawTables, ruleTable, streamTable, taskTable } from "./tables.js";

/** The evidence for one requirement. */
export interface Coverage {
  readonly id: string;
  readonly level: Level;
  readonly summary: string;
  /** Names of cases. */
  readonly cases: readonly string[];
  /** Paths of test files and documents. */
  readonly files: readonly string[];
  /** The reason for missing evidence. */
  readonly reason: string | undefined;
}

/**
 * Levels that need evidence or a reason. Facts are included, because the specification means them although it uses no
 * keyword.
 */
export const binding: ReadonlySet<Level> = new Set<Level>(["MUST", "MUST NOT", "FACT"]);

/** Names of the cases by the requirements that they name. */
function casesById(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const all = [...taskTable, ...streamTable, ...ruleTable, ...Object.values(rawTables).flat()];
  for (const { name, ids } of all) for (const id of ids) found.set(id, (found.get(id) ?? new Set()).add(name));
  return found;
}

/** Test files of this folder by the requirements that their titles name. */
function filesById(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const folder = fileURLToPath(new URL(".", import.meta.url));
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".test.ts"))) {
    const titles = readFileSync(folder + file, "utf8").match(/\[SRV-[^\]]+\]/g) ?? [];
    for (const id of titles.join(" ").match(/SRV-[A-Z]+-\d+/g) ?? []) {
      found.set(id, (found.get(id) ?? new Set()).add(`test/conformance/${file}`));
    }
  }
  return found;
}

/** Every id that a case or a title names, including unknown ones. */
export function namedIds(): ReadonlySet<string> {
  return new Set([...casesById().keys(), ...filesById().keys()]);
}

/** All requirements with their evidence. */
export function coverage(): readonly Coverage[] {
  const cases = casesById();
  const files = filesById();
  return requirements.map(([id, level, summary]) => ({
    id,
    level,
    summary,
    cases: [...(cases.get(id) ?? [])],
    files: [...(files.get(id) ?? []), ...(elsewhere[id] === undefined ? [] : [elsewhere[id]])],
    reason: reasons[id],
  }));
}

/** True if a case or a file covers the requirement. */
export function isShown({ cases, files }: Coverage): boolean {
  return cases.length > 0 || files.length > 0;
}
