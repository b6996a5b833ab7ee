import { existsSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { quoted } from "../../page/command.js";
import type { Io } from "../io.js";

/** Returns the words that start this program from the current directory: `npx` would install another package. */
export function ownCommand(
  { cwd, program }: Pick<Io, "cwd" | "program">,
  main: string = process.argv[1] ?? "",
): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "node_modules", ".bin", program))) return `npx ${program}`;
    if (dirname(folder) === folder) break;
  }
  if (basename(main) !== "main.js") return program;
  const near = relative(cwd, main);
  const path = near.startsWith("..") ? main : near;
  return `node ${/^[\w./-]+$/.test(path) ? path : quoted(path)}`;
}
