import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
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
    // A source that imports was not redirected, because a test replaces one of its modules.
    if (importer === undefined || mocking.test(importer) || isSource(importer)) return undefined;
    const path = source.startsWith(".") ? resolve(dirname(importer), source) : source;
    if (!isSource(path)) return undefined;
    const stem = path.replace(/\.(js|tsx?)$/, "");
    const isThere = existsSync(`${stem}.ts`) || existsSync(`${stem}.tsx`);
    return isThere ? { id: join(compiled, `${relative(root, stem)}.js`), external: true } : undefined;
  },
};

function isSource(path: string): boolean {
  return /^(src|gen|contract)[\\/]/.test(relative(root, path));
}
