import { defined } from "./members.js";

/**
 * Collections for short-lived members, such as calls. A Set or Map of JavaScript creates a new table whenever deleted
 * members have filled the old one, and V8 keeps a reference from the old table to the new one, for iterators. Once a
 * table is in V8's old generation, all later tables and their last members stay until the next full collection. In a
 * server under load these were half of all calls, copied twice, and took a fifth of its time.
 */

/** Minimum number of chains, a power of two. */
const MIN_CHAINS = 64;

interface Entry<V> {
  readonly key: string;
  value: V;
  next: Entry<V> | undefined;
}

/** A map whose keys are ids with random ends, such as those of `newId`. The hash uses their last characters. */
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
    // A deleted entry must not keep entries of the map alive.
    entry.next = undefined;
    this.#size--;
    if (this.#size < this.#chains.length / 8 && this.#chains.length > MIN_CHAINS) this.#resize(this.#chains.length / 2);
    return true;
  }

  /** A snapshot of the values, in any order. */
  values(): V[] {
    return this.#entries().map(({ value }) => value);
  }

  /** A snapshot of the keys, in any order. */
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
    // Mixes the upper bits into the index.
    return (hash ^ (hash >>> 15)) & (this.#chains.length - 1);
  }
}

/** Number of characters of a key that are hashed. Of a UUID these are 32 random bits. */
const HASHED = 8;

function chains<V>(count: number): (Entry<V> | undefined)[] {
  return new Array<Entry<V> | undefined>(count).fill(undefined);
}

/** A set of objects. Each object stores its index in the set, so that adding and deleting allocate nothing. */
export class TransientSet<T extends object> {
  readonly #place = Symbol("place");
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Adds an object. An object that is in the set keeps its index. */
  add(member: T): void {
    if (this.has(member)) return;
    this.#put(member, this.#members.length);
  }

  has(member: T): boolean {
    const place = (member as Indexed)[this.#place];
    return place !== undefined && this.#members[place] === member;
  }

  delete(member: T): boolean {
    if (!this.has(member)) return false;
    const place = (member as Indexed)[this.#place] as number;
    const last = defined(this.#members.pop());
    if (last !== member) this.#put(last, place);
    return true;
  }

  /** A snapshot of the members, in any order. */
  values(): T[] {
    return [...this.#members];
  }

  #put(member: T, place: number): void {
    (member as Indexed)[this.#place] = place;
    this.#members[place] = member;
  }
}

interface Indexed {
  [place: symbol]: number | undefined;
}

/**
 * Iterators over the keys of each map, for its oldest entry. A new iterator passes over all entries deleted from the
 * front since the map was last rehashed; with 100,000 entries that took half a millisecond each time.
 */
const walks = new WeakMap<Map<unknown, unknown>, Iterator<unknown>>();

/** Deletes the oldest entry of a map that has `most` of them. */
export function evictOldest<K>(map: Map<K, unknown>, most: number): void {
  if (map.size < most) return;
  let oldest = walks.get(map)?.next();
  // An exhausted iterator never returns entries that are added later.
  if (oldest === undefined || oldest.done === true) {
    const walk = map.keys();
    walks.set(map, walk);
    oldest = walk.next();
  }
  if (oldest.done !== true) map.delete(oldest.value as K);
}

/** Counts by key, in a Map or a `TransientMap`. */
interface Counts<K> {
  get(key: K): number | undefined;
  set(key: K, count: number): unknown;
  delete(key: K): boolean;
}

/** Adds to the count of a key, 0 by default, and returns the result. Deletes a count of 0 or less. */
export function addToCount<K>(counts: Counts<K>, key: K, more: number): number {
  const count = (counts.get(key) ?? 0) + more;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
  return count;
}

/** Adds one to the count of a key and returns the result. */
export function increment<K>(counts: Counts<K>, key: K): number {
  return addToCount(counts, key, 1);
}

/** Subtracts one from the count of a key and returns the result. Deletes a count of 0. */
export function decrement<K>(counts: Counts<K>, key: K): number {
  return Math.max(0, addToCount(counts, key, -1));
}

/**
 * Number of new streams after which the tables of a session are replaced, or eight times the open streams if that is
 * more.
 */
const RENEW_AFTER = 64;

/** Node's tables of the open streams of a session, and of those that have no id yet. */
interface State {
  streams: Map<unknown, unknown>;
  pendingStreams: Set<unknown>;
}

/**
 * Lets the ended streams of a session of `node:http2` be garbage-collected early. Node keeps the open ones in a Map and
 * a Set. Their inner tables are replaced often as streams come and go, and each table refers to the next one (the top
 * of this file explains why). A full collection moves the current table to the old generation. From then on all later
 * tables stay, with every other stream of the connection, until the next full collection, which again leaves an old
 * table behind. This took about a seventh of a call's CPU time for bare grpc-js, and more for a client. No old table
 * refers to a new Map and Set, so this class replaces both from time to time.
 *
 * If another version of Node keeps its streams elsewhere, nothing happens.
 */
export class StreamTables {
  readonly #state: State | undefined;
  #left = RENEW_AFTER;

  /** @param session a session of `node:http2`, of a client or server */
  constructor(session: object) {
    this.#state = stateOf(session);
  }

  /** Counts a new stream. */
  began(): void {
    if (--this.#left > 0) return;
    const state = this.#state;
    if (state === undefined) return;
    state.streams = copyOf(state.streams);
    state.pendingStreams = copyOf(state.pendingStreams);
    this.#left = Math.max(RENEW_AFTER, 8 * state.streams.size);
  }
}

function stateOf(session: object): State | undefined {
  for (const symbol of Object.getOwnPropertySymbols(session)) {
    if (symbol.description !== "state") continue;
    const { streams, pendingStreams } = Object(Reflect.get(session, symbol)) as Partial<State>;
    if (isOf(Map, streams) && isOf(Set, pendingStreams)) return Reflect.get(session, symbol) as State;
  }
  return undefined;
}

/** Like `instanceof`, but works for Node's internal classes, whose prototypes are separate from the global ones. */
function isOf(kind: typeof Map | typeof Set, value: unknown): boolean {
  try {
    Reflect.get(kind.prototype, "size", value);
    return true;
  } catch {
    return false;
  }
}

/** A copy of the same class, which may be one of Node's internal classes. */
function copyOf<T extends Map<unknown, unknown> | Set<unknown>>(from: T): T {
  const copy = Reflect.construct(from.constructor, []) as T;
  from.forEach((value: unknown, key: unknown) => {
    if ("set" in copy) copy.set(key, value);
    else copy.add(value);
  });
  return copy;
}
