import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** True for a module of Node.js. */
export const isBuiltin = (name: string): boolean => name.startsWith("node:") || builtinModules.includes(name);

/** Everything that a module imports when it runs: not what it names in types. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const found = text.matchAll(
    /^(?:import|export)(?! type\b)[^;"']*?from\s+["']([^"']+)["']|^import\s+["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm,
  );
  return [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

/** The same without what it imports later, by `import()`. */
function loadedWith(file: string): string[] {
  const later = [...readFileSync(file, "utf8").matchAll(/\bimport\(\s*["']([^"']+)["']/g)].map(([, name]) => name);
  return importsOf(file).filter((name) => !later.includes(name));
}

/** Modules that entry points import, directly or not: our files, and each other module with a file that names it. */
export function importGraph(...entries: string[]): { files: Set<string>; outside: Map<string, string> } {
  return graphOf(entries, importsOf);
}

/** Modules that are loaded with the entry points, before any code runs. */
export function loadGraph(...entries: string[]): { files: Set<string>; outside: Map<string, string> } {
  return graphOf(entries, loadedWith);
}

function graphOf(
  entries: readonly string[],
  namesIn: (file: string) => readonly string[],
): { files: Set<string>; outside: Map<string, string> } {
  const files = new Set<string>();
  const outside = new Map<string, string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const name of namesIn(file)) {
      if (name.startsWith(".")) visit(join(dirname(file), name.replace(/\.js$/, ".ts")));
      else outside.set(name, relative(root, file));
    }
  };
  for (const entry of entries) visit(join(root, entry));
  return { files, outside };
}
