/** How single sources are compiled for tests; the report of their coverage compiles them in the same way, byte by byte. */
export const asCompiled = {
  platform: "node",
  format: "esm",
  logLevel: "warning",
  target: "node20.19",
  sourcemap: true,
};
