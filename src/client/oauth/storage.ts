import { ignore, within } from "../../core/async.js";

/** Storage of tokens and pending sign-ins, which are secret. A `Map` fits; so do most key-value stores. */
export interface OAuthStorage {
  /** Returns the text of a key; null or undefined if the key does not exist. */
  get(key: string): string | null | undefined | Promise<string | null | undefined>;
  /** Stores a text; a returned promise is awaited. */
  set(key: string, value: string): unknown;
  /** Removes it; a returned promise is awaited. */
  delete(key: string): unknown;
  /**
   * Runs work with exclusive use of a key, since most refresh tokens can be used once. Needed if several processes or
   * tabs share the storage; users of the same object in one process are serialized anyway. The lock of a process that is
   * gone has to expire, but not before `limits.issuerTimeoutMs`.
   */
  lock?<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/** Work that uses a key of a storage. */
interface Hold {
  /** Time by `performance.now()` after which the hold counts as lost. */
  readonly until: number;
  /** Resolves when the work has ended. */
  readonly over: Promise<void>;
}

/** The present hold of each key of a storage. */
const holds = new WeakMap<OAuthStorage, Map<string, Hold>>();

/**
 * Runs work after earlier work on the same key. Without a storage it runs at once.
 *
 * Edge runtimes stop the work of a request with it, and its promise never settles. Work that takes longer than `mostMs`
 * therefore counts as lost, and the next work runs. It reads the storage again: if the lost work has used the refresh
 * token without storing the answer, the sign-in is lost anyway, and otherwise the token is still good. To wait or fail
 * would leave both without tokens for ever. Each waiting work has its own timer, since those of a stopped request do not
 * fire, and gets the key alone, because a token that is used twice at once ends the sign-in.
 */
export async function locked<T>(
  storage: OAuthStorage | undefined,
  key: string,
  mostMs: number,
  work: () => Promise<T>,
): Promise<T> {
  if (storage === undefined) return work();
  const all = holds.get(storage) ?? new Map<string, Hold>();
  holds.set(storage, all);
  for (let hold = all.get(key); hold !== undefined; hold = all.get(key)) {
    await within(Math.max(0, hold.until - performance.now()), hold.over);
    // It has ended or is lost, and no other work that waited has taken the key.
    if (all.get(key) === hold) break;
  }
  // Nothing is awaited between the key being free and its new hold.
  const result = storage.lock === undefined ? work() : storage.lock(key, work);
  const hold: Hold = { until: performance.now() + mostMs, over: result.then(ignore, ignore) };
  all.set(key, hold);
  try {
    return await result;
  } finally {
    if (all.get(key) === hold) all.delete(key);
  }
}

/** Storage in a page's `sessionStorage` or `localStorage`, locked across tabs. Every script of the page can read it. */
export function webStorage(storage: WebStorage, prefix = "parley-a2a "): OAuthStorage {
  return {
    get: (key) => storage.getItem(prefix + key),
    set: (key, value) => storage.setItem(prefix + key, value),
    delete: (key) => storage.removeItem(prefix + key),
    lock: async (key, work) => {
      const { locks } = (globalThis as PageGlobals).navigator ?? {};
      return locks === undefined ? work() : await locks.request(prefix + key, work);
    },
  };
}

/** The page storage methods used. */
export interface WebStorage {
  /** Returns the text stored under a key, or null. */
  getItem(key: string): string | null;
  /** Stores a text. */
  setItem(key: string, value: string): void;
  /** Removes it. */
  removeItem(key: string): void;
}

/** The page globals used: locks shared by all its tabs. */
interface PageGlobals {
  readonly navigator?: { readonly locks?: { request<T>(name: string, work: () => Promise<T>): Promise<T> } };
}
