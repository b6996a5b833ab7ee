/**
 * Makes the tables and charts of docs/benchmarks.md, and the figures of the README, of what bench/results/ has:
 * `npm run bench:report`. The same results make the same files. Says what is missing, and changes nothing then.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LATEST, readResults } from "./harness/results.js";
import { readProfiles } from "./profile/record.js";
import { documents, filledReadme, PAGE, README } from "./report/documents.js";

const ROOT = join(import.meta.dirname, "..");

try {
  const page = readFileSync(join(ROOT, PAGE), "utf8");
  const made = documents(page, readResults(), readProfiles());
  made.set(README, filledReadme(readFileSync(join(ROOT, README), "utf8"), readResults()));
  for (const [path, content] of made) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), content);
  }
  console.log(`${made.size} files made of ${LATEST}.`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
