/** `lazyImport` for browsers, which retry failed imports themselves. */
export function lazyImport<T>(load: () => Promise<T>): () => Promise<T> {
  return load;
}
