import { fileURLToPath } from "node:url";
import { mergeConfig } from "vitest/config";
import tests from "./vitest.config.js";

const tool = new URL("tools/coverage/node_modules/@vitest/coverage-v8/dist/index.js", import.meta.url);

/**
 * The tests, and which lines of `src` they run; `npm run coverage` has the tool for it. What only processes of their own run is
 * not seen: the command line, the thread of the SQLite store, and servers that are killed.
 */
export default mergeConfig(tests, {
  test: {
    // Their servers are processes of their own, or they look at times, which counting changes.
    exclude: [
      "**/node_modules/**",
      "test/e2e/**",
      "test/network/**",
      "test/slow-engine/**",
      "test/cli/**",
      "test/bench/**",
    ],
    coverage: {
      enabled: true,
      provider: "custom",
      customProviderModule: fileURLToPath(tool),
      include: ["src/**/*.ts"],
      exclude: ["src/cli/**"],
      reportsDirectory: ".cache/coverage",
      reportOnFailure: true,
      reporter: ["text-summary", "html", "json-summary"],
      thresholds: { statements: 0, branches: 0, functions: 0, lines: 0 },
    },
  },
});
