// Servers without a console load this file for the check of their options.

/** The folder of the built web app, which tests replace. Workers, which load this file too, have no `import.meta.url`. */
export const consoleFolder: { url: () => URL } = {
  // The built file is in dist/src/chunks, the source in src/console.
  url: () => new URL(import.meta.url.endsWith(".ts") ? "../../dist/console/" : "../../console/", import.meta.url),
};

/** Returns the fault of a folder without the web app, or undefined. */
export function folderFault(): string | undefined {
  const { existsSync } = process.getBuiltinModule("node:fs");
  if (existsSync(new URL("index.html", consoleFolder.url()))) return undefined;
  return "the console has not been built: npm run build:console";
}
