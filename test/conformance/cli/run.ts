import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { claimedTier, compliancePage, pageOf, root, shown } from "./compliance.js";
import { yamlOf } from "./yaml.js";

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/**
 * Runs the tests that name requirements of the A2A CLI, and writes the page and the report.
 *
 * @returns lines to print, and true if all tests passed
 */
export function reportCli(): { readonly isGood: boolean; readonly lines: readonly string[] } {
  const rows = shown();
  const files = [...new Set(rows.flatMap((row) => row.files))];
  const results = resultsOf(files);
  const tests = results.testResults.flatMap(({ assertionResults }) => assertionResults);
  const failures = tests.filter(({ status }) => status !== "passed");
  const idsOf = (text: string): readonly string[] => text.match(/(?<=A2ACLI_'?)(?:[A-Z]+_)+\d{3}/g) ?? [];
  const passed = new Set(tests.filter(({ status }) => status === "passed").flatMap(({ fullName }) => idsOf(fullName)));
  // An id that appears only in a comment is not covered by a test.
  const unseen = rows.flatMap(({ id }) => (passed.has(id) ? [] : [id]));
  const all = shown(new Set([...failures.flatMap(({ fullName }) => idsOf(fullName)), ...unseen]));
  writeFileSync(join(root, compliancePage), pageOf(all));
  writeFileSync(join(root, compliancePage.replace(/md$/, "yaml")), yamlOf(all, new Date().toISOString().slice(0, 10)));
  const isWhole = results.testResults.every(({ status }) => status === "passed");
  return {
    isGood: isWhole && failures.length === 0,
    lines: [
      ...failures.map(({ fullName }) => `failed: ${fullName}`),
      ...all.flatMap(({ id, tier, status }) => (status === "fail" ? [`not met: ${id} (tier ${tier})`] : [])),
      `${tests.length} tests; tier ${claimedTier(all)} is met. See ${compliancePage}.`,
    ],
  };
}

function resultsOf(files: readonly string[]): Results {
  const folder = mkdtempSync(join(tmpdir(), "parley-compliance-"));
  try {
    const output = join(folder, "results.json");
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const args = [vitest, "run", ...files, "--reporter=json", `--outputFile=${output}`];
    spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
    return JSON.parse(readFileSync(output, "utf8")) as Results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
