/** Options to compile single sources for tests. The coverage report uses them too, and so gets the same bytes. */
export const asCompiled = {
  platform: "node",
  format: "esm",
  logLevel: "warning",
  target: "node20.19",
  sourcemap: true,
};
