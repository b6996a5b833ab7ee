/**
 * Collections for what comes and goes with calls. A Set or Map of JavaScript makes itself a new table whenever the old one
 * is full of what was deleted, and V8 lets the old table refer to the new one, for iterators. Once one table has become
 * old enough for V8 to look at it only in full collections, every table after it is kept until then, with all that
 * was in it at its end: half of all calls, copied twice. In a server under load that was a fifth of its time.
 */

/** Smallest number of chains, a power of two. */
const MIN_CHAINS = 64;

interface Entry<V> {
  readonly key: string;
  value: V;
  next: Entry<V> | undefined;
}

/** A map by ids whose ends are random, as those of `newId` are: their last characters are the hash. */
export class TransientMap<V> {
  #chains: (Entry<V> | undefined)[] = chains(MIN_CHAINS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    let entry = this.#chains[this.#chainOf(key)];
    while (entry !== undefined && entry.key !== key) entry = entry.next;
    return entry?.value;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  set(key: string, value: V): void {
    const at = this.#chainOf(key);
    const first = this.#chains[at];
    for (let entry = first; entry !== undefined; entry = entry.next) {
      if (entry.key === key) {
        entry.value = value;
        return;
      }
    }
    this.#chains[at] = { key, value, next: first };
    this.#size++;
    if (this.#size > this.#chains.length) this.#resize(this.#chains.length * 2);
  }

  delete(key: string): boolean {
    const at = this.#chainOf(key);
    let before: Entry<V> | undefined;
    let entry = this.#chains[at];
    while (entry !== undefined && entry.key !== key) {
      before = entry;
      entry = entry.next;
    }
    if (entry === undefined) return false;
    if (before === undefined) this.#chains[at] = entry.next;
    else before.next = entry.next;
    // What is gone refers to nothing that is here.
    entry.next = undefined;
    this.#size--;
    if (this.#size < this.#chains.length / 8 && this.#chains.length > MIN_CHAINS) this.#resize(this.#chains.length / 2);
    return true;
  }

  /** The values of this moment, in no order. */
  values(): V[] {
    return this.#entries().map(({ value }) => value);
  }

  /** The keys of this moment, in no order. */
  keys(): string[] {
    return this.#entries().map(({ key }) => key);
  }

  #entries(): Entry<V>[] {
    const all: Entry<V>[] = [];
    for (const first of this.#chains) {
      for (let entry = first; entry !== undefined; entry = entry.next) all.push(entry);
    }
    return all;
  }

  #resize(count: number): void {
    const all = this.#entries();
    this.#chains = chains(count);
    for (const entry of all) {
      const at = this.#chainOf(entry.key);
      entry.next = this.#chains[at];
      this.#chains[at] = entry;
    }
  }

  #chainOf(key: string): number {
    let hash = 0;
    for (let at = Math.max(0, key.length - HASHED); at < key.length; at++) hash = (hash * 31 + key.charCodeAt(at)) | 0;
    // The upper bits have a say, too.
    return (hash ^ (hash >>> 15)) & (this.#chains.length - 1);
  }
}

/** So many characters of a key are hashed: of a UUID, 32 random bits. */
const HASHED = 8;

function chains<V>(count: number): (Entry<V> | undefined)[] {
  return new Array<Entry<V> | undefined>(count).fill(undefined);
}

/** A set of objects, each of which notes its place in it: to add and to delete makes nothing. */
export class TransientSet<T extends object> {
  readonly #place = Symbol("place");
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Adds an object; one that is in the set stays where it is. */
  add(member: T): void {
    if (this.has(member)) return;
    this.#put(member, this.#members.length);
  }

  has(member: T): boolean {
    const place = (member as Placed)[this.#place];
    return place !== undefined && this.#members[place] === member;
  }

  delete(member: T): boolean {
    if (!this.has(member)) return false;
    const place = (member as Placed)[this.#place] as number;
    const last = this.#members.pop() as T;
    if (last !== member) this.#put(last, place);
    return true;
  }

  /** The members of this moment, in no order. */
  values(): T[] {
    return [...this.#members];
  }

  #put(member: T, place: number): void {
    (member as Placed)[this.#place] = place;
    this.#members[place] = member;
  }
}

interface Placed {
  [place: symbol]: number | undefined;
}

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
