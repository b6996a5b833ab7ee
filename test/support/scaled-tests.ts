import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./compiled.js";

/**
 * Returns the test files that have more cases or longer loops in `npm run test:all` than in `npm test`: those that import
 * `cover.ts`, directly or through other files of the tests.
 */
export function scaledTests(): string[] {
  const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => `test/${name.replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(".ts"));
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const [, name = ""] of readFileSync(join(root, file), "utf8").matchAll(/["'](\.[^"']+)\.js["']/g)) {
      const imported = `${join(file, "..", name).replaceAll("\\", "/")}.ts`;
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  }
  const scaled = new Set(["test/support/cover.ts"]);
  for (const file of scaled) for (const importer of importers.get(file) ?? []) scaled.add(importer);
  return [...scaled].filter((file) => file.endsWith(".test.ts")).sort();
}
