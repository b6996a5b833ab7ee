/** What `make` makes, when it is first asked for. Errors that stand ready load the Fetch API of Node.js, for their headers. */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
