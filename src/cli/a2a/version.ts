import type { Run } from "./context.js";

/** `version`: prints the version, and with JSON that of Node.js. */
export const run: Run = async ({ io, out }) => {
  if (out.mode.isJson) out.json({ version: io.version, node: process.versions.node });
  else out.text(`${io.version}\n`);
};
