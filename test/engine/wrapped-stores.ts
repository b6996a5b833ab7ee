import { HealthSource } from "../../src/store/health.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { StoreError, type TaskStore } from "../../src/store/task-store.js";

/** A store with some methods replaced. */
export function withMethods(store: TaskStore, methods: Partial<TaskStore>): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      if (name in methods) return Reflect.get(methods, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/**
 * The store of a process that can die. Its calls after that do nothing and never settle, although the store itself
 * survives.
 */
export function mortal(store: TaskStore): { readonly store: TaskStore; die(): void } {
  let isDead = false;
  const never = new Promise<never>(() => {});
  const through = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => (isDead ? never : (value as (...a: unknown[]) => unknown).apply(target, args));
    },
  });
  return {
    store: through,
    die: () => {
      isDead = true;
    },
  };
}

/** A store whose disk can be removed. Appends then fail with the same error whether they were stored or not. */
export function fragile(kept: TaskStore = memoryStore()): {
  store: TaskStore;
  fail: (how: "done" | "not done") => void;
  mend: () => void;
} {
  const health = new HealthSource();
  let failing: "done" | "not done" | undefined;
  const store = new Proxy(kept, {
    get(target, name) {
      if (name === "health") return health;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (!["append", "setLease", "heartbeat", "claimLeases"].includes(String(name))) return value.bind(target);
      return async (request: never) => {
        if (failing === undefined) return value.call(target, request);
        if (failing === "done") await value.call(target, request);
        throw new StoreError("unavailable", "The disk is away.");
      };
    },
  });
  return {
    store,
    fail: (how) => {
      failing = how;
      health.report({ reason: "The disk is away.", restartHelps: false });
    },
    mend: () => {
      failing = undefined;
      health.report(undefined);
    },
  };
}
