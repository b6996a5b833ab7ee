import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { writerVariable } from "./writer-thread.js";

/**
 * Makes one file of the writer's thread of SQLite, once for all tests: from its sources a thread starts a loader of its
 * own, which takes five times as long, and the tests open thousands of files.
 */
export default async function bundleWriter(): Promise<(() => void) | undefined> {
  if (process.env[writerVariable] !== undefined) return undefined;
  const directory = mkdtempSync(join(tmpdir(), "parley-writer-"));
  const source = new URL("../../src/store/sqlite/writer.ts", import.meta.url);
  const outfile = join(directory, "writer.mjs");
  await build({
    entryPoints: [fileURLToPath(source)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    // Packages are found as from the sources.
    define: { "import.meta.url": JSON.stringify(source.href) },
    logLevel: "warning",
  });
  process.env[writerVariable] = pathToFileURL(outfile).href;
  return () => rmSync(directory, { recursive: true, force: true });
}
