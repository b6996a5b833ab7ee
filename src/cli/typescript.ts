import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "./usage-error.js";

/**
 * Sees to it that a module in TypeScript can be imported: Node.js 22.18 and later do it by themselves, earlier ones by
 * `tsx`, if the module's project or the current directory has it.
 *
 * @throws UsageError that says what to do, where neither is there.
 */
export async function prepareTypeScript(path: string, file: string): Promise<void> {
  const isNative = Boolean((process.features as { typescript?: unknown }).typescript);
  // Whoever gave Node.js a loader has one for this, too.
  const hasLoader = process.execArgv.some((argument) => /^--(import|loader|experimental-loader)\b/.test(argument));
  if (isNative || hasLoader || process.env.NODE_OPTIONS?.includes("tsx") === true) return;
  const tsx = tsxFor([file, join(process.cwd(), "module.js")]);
  if (tsx === undefined) {
    throw new UsageError(
      `${path} is TypeScript, which Node.js ${process.versions.node} does not run by itself: ` +
        "use Node.js 22.18 or later, or install tsx beside it (npm install --save-dev tsx)",
    );
  }
  const { register } = (await import(pathToFileURL(tsx).href)) as { register(): unknown };
  register();
}

/** The file of tsx that modules import; to `require` it would be another one. */
function tsxFor(places: readonly string[]): string | undefined {
  for (const place of places) {
    try {
      const manifest = createRequire(place).resolve("tsx/package.json");
      const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as TsxManifest;
      return join(dirname(manifest), exports["./esm/api"].import.default);
    } catch {
      // It may be in the next place.
    }
  }
  return undefined;
}

interface TsxManifest {
  readonly exports: { readonly "./esm/api": { readonly import: { readonly default: string } } };
}
