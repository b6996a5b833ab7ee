/** Maximum number of cached results; one more clears the cache. */
const MAX_KEPT = 256;

/** Memoizes a pure function of a text: many configurations share a webhook or a token. */
export function memoized<T extends object>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const made = make(text);
    if (known.size >= MAX_KEPT) known.clear();
    known.set(text, made);
    return made;
  };
}
