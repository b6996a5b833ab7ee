// Servers without a console load this file for the check of their options.

// The built file is in dist/src/chunks or dist/src, the source in src/console.
const isSource = import.meta.url.endsWith(".ts");

/** The folder of the built web app, which tests replace. */
export const consoleFolder: { url: () => URL } = {
  url: () => new URL(isSource ? "../../dist/console/" : "../../console/", import.meta.url),
};

/** Returns the fault of a folder without the web app, or undefined. */
export function folderFault(): string | undefined {
  const { existsSync } = process.getBuiltinModule("node:fs");
  if (existsSync(new URL("index.html", consoleFolder.url()))) return undefined;
  return "the console has not been built: npm run build:console";
}
