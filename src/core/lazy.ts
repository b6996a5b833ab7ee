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
