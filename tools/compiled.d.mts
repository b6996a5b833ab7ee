import type { BuildOptions } from "esbuild";

/** Options to compile single sources for tests. The coverage report uses them too, and so gets the same bytes. */
export const asCompiled: Pick<BuildOptions, "platform" | "format" | "logLevel" | "target"> & {
  readonly sourcemap: true;
};
