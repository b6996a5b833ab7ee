/**
 * Where each map has its oldest entry. Asking a map for its first key anew passes over all that was removed in front of it, since it was
 * last made smaller: with 100,000 entries that was half a millisecond each time.
 */
const walks = new WeakMap<Map<unknown, unknown>, Iterator<unknown>>();

/** Makes room for one more entry: where a map has `most` of them, it forgets the one that was set first. */
export function makeRoom<K>(map: Map<K, unknown>, most: number): void {
  if (map.size < most) return;
  let oldest = walks.get(map)?.next();
  // A walk that has come to an end stays there, whatever is set afterwards.
  if (oldest === undefined || oldest.done === true) {
    const walk = map.keys();
    walks.set(map, walk);
    oldest = walk.next();
  }
  if (oldest.done !== true) map.delete(oldest.value as K);
}
