/**
 * Prints the requirements of the specification with their evidence or the reason for missing evidence. `node --import
 * tsx test/conformance/report.ts`, with `--all` for every line. With `--cli` it runs the tests of the command line
 * instead, and writes docs/cli-compliance.md.
 */
import { reportCli } from "./cli/run.js";
import { binding, type Coverage, coverage, isShown } from "./coverage.js";
import { rawTables, ruleTable, streamTable, taskTable } from "./tables.js";

const rows = coverage();
const levels = [...new Set(rows.map(({ level }) => level))];

/** A line for a requirement: its evidence, or the reason for missing evidence. */
function line(one: Coverage): string {
  const { id, level, summary, cases, files, reason } = one;
  const shown = [...(cases.length > 0 ? [`${cases.length} cases`] : []), ...files].join(", ");
  return `${id.padEnd(12)} ${level.padEnd(10)} ${summary}\n${" ".repeat(24)}${shown || (reason ?? "not shown")}`;
}

function count(of: readonly Coverage[]): string {
  const shown = of.filter(isShown).length;
  const reasoned = of.filter((one) => !isShown(one) && one.reason !== undefined).length;
  return `${shown} shown, ${reasoned} with a reason, ${of.length - shown - reasoned} open, of ${of.length}`;
}

if (process.argv.includes("--cli")) {
  const { isGood, lines } = reportCli();
  for (const each of lines) console.log(each);
  if (!isGood) process.exitCode = 1;
} else {
  reportServer();
}

function reportServer(): void {
  const raw = Object.values(rawTables).flat().length;
  const cases = taskTable.length + streamTable.length + ruleTable.length;
  console.log(`${cases} cases over every binding, ${raw} of one binding alone.\n`);
  for (const level of levels) console.log(`${level.padEnd(10)} ${count(rows.filter((one) => one.level === level))}`);
  console.log(`${"all".padEnd(10)} ${count(rows)}\n`);

  const all = process.argv.includes("--all");
  const wanted = all ? rows : rows.filter((one) => !isShown(one));
  console.log(all ? "Requirements:" : "Requirements that nothing shows to be met:");
  for (const one of wanted) console.log(line(one));

  const open = rows.filter((one) => binding.has(one.level) && !isShown(one) && one.reason === undefined);
  if (open.length > 0) process.exitCode = 1;
}
