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

it("reports a file that was added although another one appears after its change", async () => {
  const [added, other] = [join(folder, "added.ts"), join(folder, "other.ts")];
  writeFileSync(added, "1");
  files.add(added);
  files.reportAll(true);
  writeFileSync(added, "1 + 1");
  writeFileSync(other, "2");
  await expect.poll(() => reported).toEqual([added]);
});

it("reports a file that appears, if it was told to", async () => {
  const [added, other] = [join(folder, "added.ts"), join(folder, "other.ts")];
  writeFileSync(added, "1");
  files.add(added);
  files.reportAll(true);
  writeFileSync(other, "2");
  await expect.poll(() => reported).toEqual([other]);
});
