/** `late-part.ts` for browsers, which try again by themselves what they could not load. */
export function latePart<T>(load: () => Promise<T>): () => Promise<T> {
  return load;
}
