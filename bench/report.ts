/**
 * Generates the tables and charts of docs/benchmarks.md and docs/benchmarks/, and the figures of the README, from
 * bench/results/: `npm run bench:report`. Equal results give equal files. Reports missing results without changing a file.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LATEST, readResults } from "./harness/results.js";
import { readProfiles } from "./profile/record.js";
import { documents, filledReadme, README } from "./report/documents.js";

const ROOT = join(import.meta.dirname, "..");

try {
  const read = (page: string): string => readFileSync(join(ROOT, page), "utf8");
  const made = documents(read, readResults(), readProfiles());
  made.set(README, filledReadme(read(README), readResults()));
  for (const [path, content] of made) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), content);
  }
  console.log(`${made.size} files made of ${LATEST}.`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
