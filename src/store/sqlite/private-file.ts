import { closeSync, existsSync, openSync } from "node:fs";

/** Readable by its owner alone, for any umask. SQLite gives the log and its index the mode of the file. */
export const FILE_MODE = 0o600;

/** Creates an empty file, unless it exists. */
export function createPrivate(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, "a", FILE_MODE));
}
