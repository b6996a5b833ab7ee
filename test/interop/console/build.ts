import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { isYounger, root } from "../../e2e/support/build.js";

/** Sources of the app: its own, and what it imports of the project. */
const sources = [
  "console/src",
  "console/index.html",
  "console/vite.config.ts",
  "console/package-lock.json",
  "src",
  "gen",
];

/** Builds the console, unless what was built is younger than its sources. */
export function buildConsole(): void {
  if (isYounger(join(root, "dist", "console", "index.html"), sources)) return;
  const args = ["tools/with.mjs", "console", "vite", "build", "console", "--logLevel", "warn"];
  // Vitest's own settings would make it a build for development.
  const { VITEST: _, ...environment } = process.env;
  const env = { ...environment, NODE_ENV: "production" };
  execFileSync(process.execPath, args, { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] });
}
