import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { messageIn } from "../../../core/members.js";
import type { Io } from "../../io.js";
import { configFolder } from "../config-folder.js";
import { usage } from "../errors.js";

// The address book is a text file, one `name reference` in each line, so that completion in a shell reads it without a
// process. It has no secrets.

/** Largest address book, in bytes. */
export const MAX_BOOK_BYTES: number = 256 * 1024;

export interface NamedAgent {
  readonly name: string;
  /** URL of the agent or its card, or absolute path of a file. */
  readonly agent: string;
}

/** Name of the file in the user's folder. */
export const BOOK_NAME = "agents.txt";

/** Returns the path of the address book; undefined without a home directory. */
export function bookFile(io: Io): string | undefined {
  const folder = configFolder(io);
  return folder === undefined ? undefined : join(folder, BOOK_NAME);
}

/** True for a name that the address book may have. It has no dot, colon or slash, so few hosts and no paths look alike. */
export function isAgentName(text: string): boolean {
  return /^[a-z][a-z0-9_-]{0,63}$/i.test(text) && text.toLowerCase() !== "localhost";
}

/** Reads a line of the address book; undefined for a comment and other lines. */
export function namedAgent(line: string): NamedAgent | undefined {
  const [, name = "", agent = ""] = /^(\S+)[ \t]+(.*\S)\s*$/.exec(line) ?? [];
  return isAgentName(name) ? { name, agent } : undefined;
}

/** Reads the lines of the address book. @throws Failure if it is too large or cannot be read */
export function bookLines(path: string): readonly string[] {
  try {
    if (statSync(path).size > MAX_BOOK_BYTES) throw usage(`${path} is larger than 256 KiB`);
    return readFileSync(path, "utf8").split("\n");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    if (error instanceof Error && !("syscall" in error)) throw error;
    throw usage(`${path} cannot be read: ${messageIn(error)}`);
  }
}

/** Returns the agents of the address book, in its order. @throws Failure */
export function agentsIn(path: string): NamedAgent[] {
  return bookLines(path).flatMap((line) => namedAgent(line) ?? []);
}

/** Replaces a name of the address book by its agent. Other references are returned as they are. @throws Failure */
export function withoutName(io: Io, ref: string): string {
  const path = isAgentName(ref) ? bookFile(io) : undefined;
  if (path === undefined) return ref;
  return agentsIn(path).find(({ name }) => name === ref)?.agent ?? ref;
}
