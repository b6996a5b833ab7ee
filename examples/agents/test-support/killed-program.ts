import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

/** Packages are found from here as from the agents. */
const packages = fileURLToPath(new URL("../node_modules", import.meta.url));

/** The files of a process that serves an agent and kills itself. */
export interface Program {
  readonly main: string;
  /** Module of the agent. */
  readonly module: string;
  remove(): void;
}

/**
 * Bundles the process and an agent's module with their packages, as a process loads one file several times faster than all
 * of the sources. The project's own package stays outside.
 *
 * @param module path or URL of the agent's module
 */
export async function bundled(module: string): Promise<Program> {
  const source = module.startsWith("file:") ? fileURLToPath(module) : module;
  const folder = mkdtempSync(join(packages, ".killed-"));
  await build({
    entryPoints: { main: fileURLToPath(new URL("kill-process.ts", import.meta.url)), module: source },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    external: ["parley-a2a"],
    platform: "node",
    format: "esm",
    target: "node20.19",
    logLevel: "warning",
    // Agents read the files of their folder.
    define: { "import.meta.url": JSON.stringify(pathToFileURL(source).href) },
    // Packages in CommonJS ask for the modules of Node.js when they run.
    banner: { js: 'const require = process.getBuiltinModule("module").createRequire(import.meta.url);' },
  });
  return {
    main: join(folder, "main.mjs"),
    module: join(folder, "module.mjs"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
