import { onceDone } from "./async.js";
import { A2AError } from "./error.js";

/**
 * Returns a function that creates the value on first use. Errors are created lazily, because their headers load the
 * Fetch API of Node.js.
 */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Number of files that an import may open at once. */
const FILES = 16;

/** Error codes for too many open files, in this process or in the system. */
const tooMany: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE"]);

/**
 * Imports a module on first use. Node.js caches a failed import for the life of the process, so the import is not
 * attempted while file descriptors are exhausted. A failed import is retried on the next use.
 *
 * @param load imports the module
 * @returns a function that returns the module, or rejects with A2AError UNAVAILABLE while too many files are open
 */
export function lazyImport<T>(load: () => Promise<T>): () => Promise<T> {
  return onceDone(async () => {
    checkFreeFiles();
    return load();
  });
}

/**
 * Rejects the import if its files could not be opened. The import must start synchronously after it, before connections
 * take the free descriptors.
 */
function checkFreeFiles(): void {
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
