import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WatchedFiles } from "../../src/cli/authors/watched-files.js";

let folder = "";
let reported: string[] = [];
let files: WatchedFiles;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-watched-"));
  reported = [];
  files = new WatchedFiles(
    (path) => reported.push(path),
    (text) => expect.fail(text),
  );
});
afterEach(() => {
  files.close();
  rmSync(folder, { recursive: true });
});

/**
 * Adds a file and reports other files that appear. @returns the paths of the added file and of one that does not exist
 */
function watchFolder(): [added: string, other: string] {
  const added = join(folder, "added.ts");
  writeFileSync(added, "1");
  files.add(added);
  files.reportAll(true);
  return [added, join(folder, "other.ts")];
}

it("reports a file that was added although another one appears after its change", async () => {
  const [added, other] = watchFolder();
  writeFileSync(added, "1 + 1");
  writeFileSync(other, "2");
  await expect.poll(() => reported).toEqual([added]);
});

it("reports a file that appears, if it was told to", async () => {
  const [, other] = watchFolder();
  writeFileSync(other, "2");
  await expect.poll(() => reported).toEqual([other]);
});
