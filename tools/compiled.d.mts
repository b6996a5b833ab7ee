import type { BuildOptions } from "esbuild";

/** How single sources are compiled for tests; the report of their coverage compiles them in the same way, byte by byte. */
export const asCompiled: Pick<BuildOptions, "platform" | "format" | "logLevel" | "target"> & {
  readonly sourcemap: true;
};
