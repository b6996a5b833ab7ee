import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type BuildOptions, build } from "esbuild";
import type { TestProject } from "vitest/node";
import { asCompiled } from "../../tools/compiled.mjs";
import { compiled, root } from "./compiled.js";
import { bundlesVariable } from "./writer-thread.js";

const modules = { platform: "node", format: "esm", logLevel: "warning" } as const;
const bundled = { ...modules, bundle: true, packages: "external" } as const;

/** Programs with their packages, as a process loads one file faster than a hundred. Packages that are optional stay outside. */
const whole = {
  ...modules,
  bundle: true,
  external: ["@grpc/grpc-js", "@opentelemetry/api", "@photostructure/sqlite", "ai", "fastify", "pg", "react"],
  // Packages in CommonJS ask for the modules of Node.js when they run.
  banner: { js: 'const require = process.getBuiltinModule("module").createRequire(import.meta.url);' },
} satisfies BuildOptions;

/**
 * Bundles the writer's thread of SQLite, and the servers and clients that tests start as processes, into one file each, once for
 * all tests. From its sources each would start a loader of its own, which takes several times as long, and the tests start
 * thousands of them.
 */
export default async function bundleProcesses({ config }: TestProject): Promise<(() => void) | undefined> {
  if (process.env[bundlesVariable] !== undefined) return undefined;
  const directory = join(compiled, "..");
  mkdirSync(directory, { recursive: true });
  await build({
    // A process looks for its writer thread beside itself, as in a build.
    entryPoints: {
      writer: join(root, "src/store/sqlite/writer.ts"),
      lending: join(root, "test/support/lending.ts"),
      copier: join(root, "src/store/sqlite/copier.ts"),
      "writer-process": join(root, "src/store/sqlite/writer-process.ts"),
      heartbeats: join(root, "src/store/sqlite/heartbeats.ts"),
      "writer-host": join(root, "test/store/sqlite/writer-host.ts"),
      child: join(root, "test/store/sqlite/child.ts"),
      "conversation-child": join(root, "test/engine/conversation-child.ts"),
      "outgoing-server": join(root, "test/network/outgoing-server.ts"),
      "calls-server": join(root, "test/network/calls-server.ts"),
      "hostile-client": join(root, "test/client/hostile/client.ts"),
      "hostile-delegation": join(root, "test/delegation/hostile-child.ts"),
    },
    outdir: directory,
    ...whole,
  });
  await compileSources();
  await build({
    // The stand-in for the AI SDK, which the first install does not have.
    entryPoints: { "ai/index": join(root, "test/ai/stand-in.ts") },
    outdir: join(compiled, "node_modules"),
    ...bundled,
  });
  writeFileSync(
    join(compiled, "node_modules/ai/package.json"),
    '{ "type": "module", "exports": { ".": "./index.js" } }',
  );
  copyFileSync(join(directory, "writer.js"), join(compiled, "src/store/sqlite/writer.js"));
  if (config.env?.PARLEY_TESTS === undefined) {
    await build({
      entryPoints: { thread: join(root, "test/support/lent-writer.ts") },
      outdir: join(compiled, "src/store/sqlite"),
      ...bundled,
    });
  }
  copyFileSync(join(root, "package.json"), join(directory, "package.json"));
  process.env[bundlesVariable] = pathToFileURL(join(directory, "/")).href;
  return () => rmSync(directory, { recursive: true, force: true });
}

/** Compiles each source by itself: Node.js loads the files in a fraction of the time that Vitest takes for them. */
async function compileSources(): Promise<void> {
  const sources = ["src", "gen", "contract"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(root, folder, name)),
  );
  await build({
    entryPoints: sources,
    outdir: compiled,
    outbase: root,
    ...asCompiled,
  });
}
