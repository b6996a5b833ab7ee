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
      // A point below what is covered: in all, and in the folders that decide what is kept and what is on the wire.
      thresholds: {
        ...{ statements: 90.1, branches: 84.5, functions: 90, lines: 91.6 },
        "src/engine/**": { statements: 93.8, branches: 88, functions: 95.7, lines: 96.2 },
        "src/store/**": { statements: 88.9, branches: 80.3, functions: 89.6, lines: 89.8 },
        "src/task/**": { statements: 93.5, branches: 88.8, functions: 95.6, lines: 97.1 },
        "src/wire/**": { statements: 95, branches: 89.1, functions: 94.9, lines: 96.7 },
      },
    },
  },
});
