/** Makes room for one more entry: where a map has `most` of them, it forgets the one that was set first. */
export function makeRoom<K>(map: Map<K, unknown>, most: number): void {
  const oldest = map.keys().next();
  if (map.size >= most && !oldest.done) map.delete(oldest.value);
}
