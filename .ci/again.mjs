/**
 * Reads the JSON reports of Vitest for `.ci/run`:
 *
 *   node .ci/again.mjs failed REPORT MOST        prints the files with a failed test, or none if there are more than MOST
 *   node .ci/again.mjs merge REPORT AGAIN LIST   puts the files of AGAIN in the place of those in REPORT, adds the tests that have passed
 *                                                now to LIST, and ends with 1 when one has not
 */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";

const [action, path, ...rest] = process.argv.slice(2);
const report = JSON.parse(readFileSync(path, "utf8"));
const hasFailed = ({ status, assertionResults }) =>
  status === "failed" || assertionResults.some((test) => test.status === "failed");

if (action === "failed") {
  const files = [...new Set(report.testResults.filter(hasFailed).map(({ name }) => relative(process.cwd(), name)))];
  if (files.length <= Number(rest[0])) for (const file of files) process.stdout.write(`${file}\n`);
} else {
  const again = JSON.parse(readFileSync(rest[0], "utf8"));
  // Two projects can have one file: it has passed in both, or not.
  const repeated = new Map(
    [...again.testResults].sort((a, b) => hasFailed(a) - hasFailed(b)).map((file) => [file.name, file]),
  );
  const passed = [];
  report.testResults = report.testResults.map((file) => {
    const next = repeated.get(file.name);
    if (!hasFailed(file) || next === undefined) return file;
    if (hasFailed(next) || next.assertionResults.length < file.assertionResults.length) return file;
    const failed = file.assertionResults.filter((test) => test.status === "failed").map((test) => test.fullName);
    passed.push(
      ...(failed.length > 0 ? failed : ["the file"]).map(
        (test) => `${relative(process.cwd(), file.name)}: ${test}, alone`,
      ),
    );
    const count = (status) => file.assertionResults.filter((test) => test.status === status).length;
    report.numFailedTests -= count("failed");
    report.numPassedTests += count("failed");
    return { ...file, status: "passed", assertionResults: next.assertionResults };
  });
  writeFileSync(path, JSON.stringify(report));
  for (const line of passed) appendFileSync(rest[1], `${line}\n`);
  if (report.testResults.some(hasFailed)) process.exitCode = 1;
}
