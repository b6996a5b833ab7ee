/**
 * Calls every callback, whatever one of them throws: that is reported as a warning of the process, or where there is none as an
 * error of the page or worker, since whoever calls
 * has nothing to do with it and nobody else would hear of it.
 */
export function callAll<A extends readonly unknown[]>(callbacks: Iterable<(...args: A) => void>, ...args: A): void {
  for (const callback of callbacks) {
    try {
      callback(...args);
    } catch (error) {
      reportThrown(error);
    }
  }
}

/** Tells of an error that nobody else can be told of. */
export function reportThrown(error: unknown): void {
  const told = error instanceof Error ? error : new Error("a callback threw what is no error");
  if (typeof process === "object" && typeof process.emitWarning === "function") process.emitWarning(told);
  else (globalThis as { reportError?: (error: unknown) => void }).reportError?.(told);
}
