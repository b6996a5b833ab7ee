/**
 * Reads the JSON reports of Vitest for `.ci/run`:
 *
 *   node .ci/again.mjs failed REPORT MOST        prints the files with a failed test, or none if there are more than MOST
 *   node .ci/again.mjs merge REPORT AGAIN LIST   replaces the failed files of REPORT by those of AGAIN, which have all passed, and adds the
 *                                                tests that had failed to LIST, with the first error; ends with 1 if AGAIN lacks a file
 */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

const [action, path, ...rest] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const report = read(path);
const isFailed = ({ status }) => status === "failed";
const failed = report.testResults.filter((file) => isFailed(file) || file.assertionResults.some(isFailed));
const nameOf = ({ name }) => relative(process.cwd(), name);

if (action === "failed") {
  const names = new Set(failed.map(nameOf));
  if (names.size <= Number(rest[0])) for (const name of names) process.stdout.write(`${name}\n`);
} else {
  const [again, list] = rest;
  const passed = new Map(read(again).testResults.map((file) => [file.name, file]));
  for (const file of failed) {
    const tests = file.assertionResults.filter(isFailed);
    const names = tests.length > 0 ? tests.map(({ fullName }) => fullName) : ["the file"];
    const [error = file.message ?? ""] = tests.flatMap(({ failureMessages = [] }) => failureMessages);
    if (!passed.has(file.name)) process.exitCode = 1;
    else {
      for (const name of names) appendFileSync(list, `${nameOf(file)}: ${name}, alone\n`);
      appendFileSync(list, `    ${stripVTControlCharacters(error).replaceAll(/\s+/g, " ").slice(0, 500)}\n`);
      report.numFailedTests -= tests.length;
      report.numPassedTests += tests.length;
      Object.assign(file, { status: "passed", assertionResults: passed.get(file.name).assertionResults });
    }
  }
  writeFileSync(path, JSON.stringify(report));
}
