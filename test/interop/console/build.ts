import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { isYounger, root } from "../../e2e/support/build.js";

/** Sources of the app, including those that it imports from the project. */
const sources = [
  "console/src",
  "console/index.html",
  "console/vite.config.ts",
  "console/package-lock.json",
  "src",
  "gen",
];

/** Builds the console, unless the build is newer than its sources. */
export function buildConsole(): void {
  if (isYounger(join(root, "dist", "console", "index.html"), sources)) return;
  const args = ["tools/with.mjs", "console", "vite", "build", "console", "--logLevel", "warn"];
  // Vitest's variable would select a development build.
  const { VITEST: _, ...environment } = process.env;
  const env = { ...environment, NODE_ENV: "production" };
  execFileSync(process.execPath, args, { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] });
}
