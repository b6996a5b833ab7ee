import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "./usage-error.js";

/**
 * Makes it possible to import a module in TypeScript with `tsx`, if the module's project or the current directory has it. Without it
 * Node.js 22.18 and later import TypeScript by themselves, but not `./other.ts` as `./other.js`.
 *
 * @throws UsageError that says what to do, where neither works.
 */
export async function prepareTypeScript(path: string, file: string): Promise<void> {
  // A loader that was given to Node.js can load TypeScript too.
  const hasLoader = process.execArgv.some((argument) => /^--(import|loader|experimental-loader)\b/.test(argument));
  if (hasLoader || process.env.NODE_OPTIONS?.includes("tsx") === true) return;
  const tsx = tsxFor([file, join(process.cwd(), "module.js")]);
  if (tsx === undefined) {
    if ((process.features as { typescript?: unknown }).typescript) return;
    throw new UsageError(
      `${path} is TypeScript, which Node.js ${process.versions.node} does not run by itself: ` +
        "use Node.js 22.18 or later, or install tsx beside it (npm install --save-dev tsx)",
    );
  }
  const { register } = (await import(pathToFileURL(tsx).href)) as { register(): unknown };
  register();
}

/** The file of tsx for `import`; `require` would find another one. */
function tsxFor(places: readonly string[]): string | undefined {
  for (const place of places) {
    try {
      const manifest = createRequire(place).resolve("tsx/package.json");
      const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as TsxManifest;
      return join(dirname(manifest), exports["./esm/api"].import.default);
    } catch {
      // Try the next place.
    }
  }
  return undefined;
}

interface TsxManifest {
  readonly exports: { readonly "./esm/api": { readonly import: { readonly default: string } } };
}
