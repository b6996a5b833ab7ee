/** Results that are kept; with one more all of them are dropped. */
const MAX_KEPT = 256;

/** A function of a text that keeps its latest results. For what never changes: many configurations name one webhook, or one token. */
export function remembering<T extends object>(make: (text: string) => T): (text: string) => T {
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
