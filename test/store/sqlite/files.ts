import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEachTest } from "../../support/clean-up.js";
import { memoryFolder } from "../../support/memory-folder.js";

const directories: string[] = [];

afterEachTest(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** A new directory that goes away after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(memoryFolder(), "parley-store-"));
  directories.push(directory);
  return directory;
}

/** Path of a file that is not there yet, in a directory of its own. */
export function temporaryFile(): string {
  return join(temporaryDirectory(), "tasks.db");
}

/** Everything in a directory, byte for byte. */
export function contentsOf(directory: string): Record<string, string> {
  if (!existsSync(directory)) return {};
  const names = readdirSync(directory).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name)).toString("base64")]));
}
