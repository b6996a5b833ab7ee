import { createRequire, isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/**
 * Whether Node.js has SQLite itself, and better-sqlite3 is there and built for it besides. On Node.js 24 an iterator of
 * better-sqlite3 12.11 ends the process when it is collected, which is one reason more to use what Node.js has.
 */
function hasBothDrivers(): boolean {
  if (!isBuiltin("node:sqlite") || Number.parseInt(process.versions.node, 10) >= 24) return false;
  try {
    const Database = createRequire(import.meta.url)("better-sqlite3") as new (path: string) => { close(): void };
    new Database(":memory:").close();
    return true;
  } catch {
    return false;
  }
}

export default defineConfig({
  resolve: {
    // The examples import the package by its name, as its users do. Tests run them on the sources.
    alias: [
      { find: /^parley-a2a$/, replacement: at("src/index.ts") },
      { find: /^parley-a2a\/(fetch|fastify|extend)$/, replacement: at("src/$1.ts") },
      { find: /^parley-a2a\/store$/, replacement: at("src/store/index.ts") },
      { find: /^parley-a2a\/store\/(sqlite|memory)$/, replacement: at("src/store/$1/index.ts") },
      { find: /^parley-a2a\/gen$/, replacement: at("gen/lf/a2a/v1/a2a_pb.ts") },
      { find: /^\.\/thread\.js$/, replacement: at("test/support/writer-thread.ts") },
    ],
  },
  test: {
    globalSetup: [at("test/support/bundle-writer.ts")],
    // connect-node's client destroys an idle session with this error when its server goes, at times after it has stopped
    // listening for errors. It concerns no call, and no server.
    onUnhandledError: (error) => !error.message.endsWith("received GOAWAY without any open streams"),
    // Nothing is asserted about times: these end what hangs, on a machine that is busy with other things as well.
    testTimeout: 30_000,
    // A test that a busy machine of CI has made fail has one more try; the report names it. Elsewhere it just fails.
    retry: process.env.CI === undefined ? 0 : 1,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    projects: [
      { extends: true, test: { name: "all", include: ["test/**/*.test.ts"] } },
      // What is about SQLite runs on both drivers where there are two.
      ...(hasBothDrivers()
        ? [
            {
              extends: true as const,
              test: {
                name: "better-sqlite3",
                include: ["test/store/sqlite/**/*.test.ts"],
                setupFiles: ["test/support/database.ts"],
                env: { PARLEY_SQLITE_DRIVER: "better-sqlite3" },
              },
            },
          ]
        : []),
    ],
  },
});
