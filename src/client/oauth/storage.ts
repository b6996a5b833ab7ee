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
   * tabs share the storage; users of the same object in one process are serialized anyway.
   */
  lock?<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/** The latest work started under each key of a storage. */
const turns = new WeakMap<OAuthStorage, Map<string, Promise<unknown>>>();

/** Runs work after earlier work on the same key. Without a storage it runs at once. */
export async function locked<T>(storage: OAuthStorage | undefined, key: string, work: () => Promise<T>): Promise<T> {
  if (storage === undefined) return work();
  const all = turns.get(storage) ?? new Map<string, Promise<unknown>>();
  turns.set(storage, all);
  const before = all.get(key) ?? Promise.resolve();
  const exclusive = storage.lock === undefined ? work : () => (storage as Required<OAuthStorage>).lock(key, work);
  const mine = before.then(exclusive, exclusive);
  all.set(key, mine);
  try {
    return await mine;
  } finally {
    if (all.get(key) === mine) all.delete(key);
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
