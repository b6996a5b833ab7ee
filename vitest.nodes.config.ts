import { defineConfig } from "vitest/config";

/** Tests on other versions of Node.js than the one that runs them; `npm run test:nodes`. */
export default defineConfig({
  test: {
    include: ["test/**/*.nodes.ts"],
    // One after the other: each of them takes all processors.
    fileParallelism: false,
    testTimeout: 60_000,
    // Clones are written and removed.
    hookTimeout: 300_000,
  },
});
