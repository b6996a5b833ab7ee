import { defineConfig } from "vitest/config";

/** Tests of what only tools can tell that the first install does not bring; `npm run test:tools` has them in its PATH. */
export default defineConfig({
  test: {
    include: ["test/**/*.tools.ts"],
    // Packages are packed and installed.
    hookTimeout: 300_000,
    testTimeout: 300_000,
  },
});
