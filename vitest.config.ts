import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    // The examples import the package by its name, as its users do. Tests run them on the sources.
    alias: [
      { find: /^parley-a2a$/, replacement: at("src/index.ts") },
      { find: /^parley-a2a\/store\/(sqlite|memory)$/, replacement: at("src/store/$1/index.ts") },
      { find: /^parley-a2a\/gen$/, replacement: at("gen/lf/a2a/v1/a2a_pb.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
  },
});
