import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./compiled.js";

/** Returns the files that import `cover.ts`: tests of which `npm test` runs some cases, and `.ci/run` the others after that. */
export function scaledTests(): string[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => `test/${name.replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(".ts"))
    .filter((name) => /["'][./]+\/(support\/)?cover\.js["']/.test(readFileSync(join(root, name), "utf8")))
    .sort();
}
