import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const folder = fileURLToPath(new URL("test/interop", import.meta.url));

/** Names of the foreign clients: one file for each. */
const known = readdirSync(folder)
  .filter((file) => file.endsWith(".interop.ts"))
  .map((file) => file.replace(".interop.ts", ""));

/** `PARLEY_INTEROP_ONLY=curl,sdk` runs these alone; without it all have to run, and what cannot run is a failure. */
const only = (process.env.PARLEY_INTEROP_ONLY ?? "")
  .split(",")
  .map((name) => name.trim())
  .filter((name) => name !== "");

const unknown = only.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  throw new Error(`PARLEY_INTEROP_ONLY names ${unknown.join(", ")}; there are ${known.join(", ")}.`);
}

export default defineConfig({
  test: {
    include: (only.length > 0 ? only : known).map((name) => `test/interop/${name}.interop.ts`),
    globalSetup: ["test/interop/support/global-setup.ts"],
    // Clients in other languages are installed before the first test of their file.
    hookTimeout: 600_000,
    testTimeout: 60_000,
    retry: process.env.CI === undefined ? 0 : 1,
  },
});
