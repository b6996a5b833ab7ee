/** `latePart` for browsers, which retry failed imports themselves. */
export function latePart<T>(load: () => Promise<T>): () => Promise<T> {
  return load;
}
