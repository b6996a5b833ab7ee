import { A2AError } from "./error.js";

/** Files that an import may have to open at once. */
const FILES = 16;

/** Codes of errors that say that too many files are open, in this process or in the system. */
const tooMany: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE"]);

/**
 * A part of the program that is imported when it is first asked for. Node.js remembers for ever that a file could not be opened, so none
 * is asked for while there is no room for it; what has failed is tried again.
 *
 * @param load imports it
 * @returns gives it, or rejects with A2AError UNAVAILABLE while too many files are open
 */
export function latePart<T>(load: () => Promise<T>): () => Promise<T> {
  let part: Promise<T> | undefined;
  const begin = async (): Promise<T> => {
    checkRoom();
    return load();
  };
  return () => {
    if (part === undefined) {
      part = begin();
      part.catch(() => {
        part = undefined;
      });
    }
    return part;
  };
}

/** Nothing is awaited behind it: connections would take the room. */
function checkRoom(): void {
  const files = globalThis.process?.getBuiltinModule?.("fs");
  if (files === undefined) return;
  const open: number[] = [];
  try {
    while (open.length < FILES) open.push(files.openSync(process.execPath, "r"));
  } catch (cause) {
    if (!tooMany.has((cause as { code?: unknown } | undefined)?.code)) return;
    throw new A2AError("UNAVAILABLE", "No more files can be opened.", { cause, retryAfterMs: 1_000 });
  } finally {
    for (const file of open) files.closeSync(file);
  }
}
