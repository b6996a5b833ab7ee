import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { bundlesVariable } from "./writer-thread.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Makes one file each of the writer's thread of SQLite and of the processes that test the store, once for all tests: from its
 * sources each starts a loader of its own, which takes several times as long, and the tests start thousands of threads.
 */
export default async function bundleWriter(): Promise<(() => void) | undefined> {
  if (process.env[bundlesVariable] !== undefined) return undefined;
  // In the project, where packages are found as from the sources.
  mkdirSync(join(root, ".cache"), { recursive: true });
  const directory = mkdtempSync(join(root, ".cache", "bundles-"));
  await build({
    // A process finds its writer's thread beside it, as what is built does.
    entryPoints: { writer: join(root, "src/store/sqlite/writer.ts"), child: join(root, "test/store/sqlite/child.ts") },
    outdir: directory,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "warning",
  });
  process.env[bundlesVariable] = pathToFileURL(join(directory, "/")).href;
  return () => rmSync(directory, { recursive: true, force: true });
}
