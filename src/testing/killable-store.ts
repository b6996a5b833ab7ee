import { NO_HOLDER, type TaskStore } from "../store/task-store.js";

/** The access of one process to a store that outlives it. */
export interface KillableStore {
  readonly store: TaskStore;
  /** From now on no call reaches the store and no answer returns. The leases of the process can be claimed. */
  kill(): Promise<void>;
}

/** Leases that are released at a time. */
const PAGE = 1_000;

/** Gives one process access to a store; closing it does not close the store. */
export function killableStore(store: TaskStore): KillableStore {
  const holders = new Set<string>();
  const never = new Promise<never>(() => {});
  let isKilled = false;
  const through = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === "close") return async () => {};
      if (typeof value !== "function") return value;
      return (request: { readonly holder?: string } | undefined, ...more: unknown[]): unknown => {
        if (isKilled) return never;
        if (name === "beat" && request?.holder !== undefined) holders.add(request.holder);
        const answer: unknown = value.call(target, request, ...more);
        return answer instanceof Promise ? answer.then((given: unknown) => (isKilled ? never : given)) : answer;
      };
    },
  });
  return {
    store: through,
    async kill() {
      isKilled = true;
      for (const holder of holders) await releaseLeases(store, holder);
    },
  };
}

/** Releases the leases of a dead process. For a file, its lock shows the next process that the holder is dead. */
async function releaseLeases(store: TaskStore, holder: string): Promise<void> {
  for (let after = ""; ; ) {
    const held = await store.leasesOf({ holder, after, limit: PAGE });
    for (const { taskId, ...lease } of held) {
      await store.setLease({ taskId, fence: lease, lease: { ...lease, holder: NO_HOLDER } });
    }
    if (held.length < PAGE) return;
    after = held.at(-1)?.taskId ?? "";
  }
}
