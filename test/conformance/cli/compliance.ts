import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cases } from "../../cli/a2a/cases.js";
import { type CliRequirement, cliRequirements, cliSpecification, notApplicable } from "./requirements.js";

export const root: string = fileURLToPath(new URL("../../..", import.meta.url));

/** The page that shows which requirements of the A2A CLI are met. */
export const compliancePage = "docs/cli-compliance.md";

/** Result of a requirement, as the report names it. */
export type Status = "pass" | "fail" | "na";

/** A requirement with the tests that name it. */
export interface Shown extends CliRequirement {
  readonly status: Status;
  /** Paths of the test files. */
  readonly files: readonly string[];
}

/** Returns the test files that name each requirement in a title, by its id. */
export function filesById(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const add = (id: string, file: string): void => {
    const before = found.get(id) ?? [];
    if (!before.includes(file)) found.set(id, [...before, file]);
  };
  for (const name of readdirSync(join(root, "test/cli"), { recursive: true, encoding: "utf8" }).toSorted()) {
    const file = `test/cli/${name.replaceAll("\\", "/")}`;
    if (!file.endsWith(".test.ts")) continue;
    for (const [, id = ""] of readFileSync(join(root, file), "utf8").matchAll(/\bA2ACLI_((?:[A-Z]+_)+\d{3})\b/g)) {
      add(id, file);
    }
  }
  for (const { id } of cases) add(id, "test/cli/a2a/requirements.test.ts");
  return found;
}

/** Returns all requirements with their results. @param failed ids that a failed test names */
export function shown(failed: ReadonlySet<string> = new Set()): readonly Shown[] {
  const files = filesById();
  return cliRequirements.map((one) => {
    const own = files.get(one.id) ?? [];
    const status = one.id in notApplicable ? "na" : own.length > 0 && !failed.has(one.id) ? "pass" : "fail";
    return { ...one, status, files: own };
  });
}

/** Returns the highest tier whose applicable requirements, and those of the tiers below, are all met. 0 for none. */
export function claimedTier(rows: readonly Shown[]): number {
  const open = rows.filter(({ status }) => status === "fail").map(({ tier }) => tier);
  return Math.min(4, ...open) - 1;
}

const words: Readonly<Record<Status, string>> = { pass: "met", fail: "not met", na: "does not apply" };

function cellsOf({ id, level, summary, status, files }: Shown): readonly string[] {
  const tests = files.map((file) => `[${file.replace(/^test\/cli\/|\.test\.ts$/g, "")}](../${file})`).join(", ");
  return [id, level, summary, words[status], tests || (notApplicable[id] ?? "")];
}

/** Returns a table in Markdown, with aligned columns. */
function tableOf(lines: readonly (readonly string[])[]): string {
  const [head = [], ...rest] = lines;
  const widths = head.map((_, at) => Math.max(3, ...lines.map((cells) => cells[at]?.length ?? 0)));
  const all = [head, widths.map((width) => "-".repeat(width)), ...rest];
  return all.map((cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`).join("\n");
}

export function pageOf(rows: readonly Shown[]): string {
  const tier = claimedTier(rows);
  const tables = ([1, 2, 3] as const).map((each) => {
    const own = rows.filter((row) => row.tier === each);
    const met = own.filter(({ status }) => status === "pass").length;
    const applying = own.filter(({ status }) => status !== "na").length;
    return `## Tier ${each}: ${met} of ${applying}

${tableOf([["Id", "Level", "Requirement", "Result", "Tests"], ...own.map(cellsOf)])}
`;
  });
  return `# Compliance of the command line

This page shows which requirements of the
[A2A CLI specification](${cliSpecification.repository}) (version ${cliSpecification.version}, revision
${cliSpecification.revision}, under review) the commands of [Call agents from a shell](cli.md) meet, and the
tests that show it. This command runs these tests and writes the page:

\`\`\`sh
npm run conformance -- --cli
\`\`\`

The tests call an agent over JSON-RPC, REST and gRPC that produces every state, part and error.
Ids are written without their prefix \`A2ACLI_\`. A tier is met if all its requirements and those
of the tiers below are met, where SHOULD counts as MUST. ${tier === 0 ? "No tier is met." : `Tier ${tier} is met.`}
[cli-compliance.yaml](cli-compliance.yaml) has the same results in the form of the specification's
report.

${tables.join("\n")}`;
}
