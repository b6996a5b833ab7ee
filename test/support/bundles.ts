import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { bundlesVariable } from "./writer-thread.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Bundles the writer's thread of SQLite, and the servers and clients that tests start as processes, into one file each, once for
 * all tests. From its sources each would start a loader of its own, which takes several times as long, and the tests start
 * thousands of them.
 */
export default async function bundleProcesses(): Promise<(() => void) | undefined> {
  if (process.env[bundlesVariable] !== undefined) return undefined;
  // In the project, where packages are found as from the sources.
  mkdirSync(join(root, ".cache"), { recursive: true });
  const directory = mkdtempSync(join(root, ".cache", "bundles-"));
  await build({
    // A process finds its writer's thread beside it, as what is built does.
    entryPoints: {
      writer: join(root, "src/store/sqlite/writer.ts"),
      child: join(root, "test/store/sqlite/child.ts"),
      "conversation-child": join(root, "test/engine/conversation-child.ts"),
      "outgoing-server": join(root, "test/network/outgoing-server.ts"),
      "calls-server": join(root, "test/network/calls-server.ts"),
      "hostile-client": join(root, "test/client/hostile/client.ts"),
    },
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
