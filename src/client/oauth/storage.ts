/** Storage of tokens and of pending sign-ins. What is in it is secret. A `Map` is one; so are most key-value stores. */
export interface OAuthStorage {
  /** What is kept under a key; null or undefined where nothing is. */
  get(key: string): string | null | undefined | Promise<string | null | undefined>;
  /** Keeps a text; a promise is waited for. */
  set(key: string, value: string): unknown;
  /** Forgets it; a promise is waited for. */
  delete(key: string): unknown;
  /**
   * Does work while nobody else does who uses the same key: most refresh tokens may be used once. Needed where several processes, or tabs, share
   * what is stored; in one process those that have the same object take turns anyway.
   */
  lock?<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/** The last work that was begun under each key of a storage. */
const turns = new WeakMap<OAuthStorage, Map<string, Promise<unknown>>>();

/** Does work when it is its turn. Without a storage there is nobody to share with. */
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

/** The methods of page storage that are used. */
export interface WebStorage {
  /** What is kept under a name, or null. */
  getItem(key: string): string | null;
  /** Keeps a text. */
  setItem(key: string, value: string): void;
  /** Forgets it. */
  removeItem(key: string): void;
}

/** What is used of a page's globals: locks that all its tabs have in common. */
interface PageGlobals {
  readonly navigator?: { readonly locks?: { request<T>(name: string, work: () => Promise<T>): Promise<T> } };
}
