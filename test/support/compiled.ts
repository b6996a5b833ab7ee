import { existsSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** Compiled sources of this run. They lie in the project, where packages are found as from the sources. */
export const compiled: string = join(root, ".cache", `tests-${process.pid}`, "tree");

/** Tests that load a module of the sources anew, or replace one: Vitest has to load it itself for that. */
const mocking = /test\/(core\/bytes|push\/(signature\/derived|target\/own-address))\.test\.ts$/;

/** Lets tests import the compiled sources in place of the sources. */
export const compiledSources: Plugin = {
  name: "compiled-sources",
  enforce: "pre",
  resolveId(source, importer) {
    if (importer === undefined || mocking.test(importer)) return undefined;
    const path = source.startsWith(".") ? resolve(dirname(importer), source) : source;
    const inside = relative(root, path);
    if (!/^(src|gen|contract)[\\/]/.test(inside) || isSource(importer)) return undefined;
    const file = inside.replace(/\.tsx?$/, ".js");
    const isThere = [".ts", ".tsx"].some((end) => existsSync(join(root, file.replace(/\.js$/, end))));
    return isThere ? { id: join(compiled, file), external: true } : undefined;
  },
};

/** True for sources that were not redirected, because a test replaces a module of theirs. */
function isSource(path: string): boolean {
  return ["src", "gen", "contract"].some((folder) => path.startsWith(join(root, folder) + sep));
}
