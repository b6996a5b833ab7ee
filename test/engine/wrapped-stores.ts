import type { TaskStore } from "../../src/store/task-store.js";

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

/** The store of a process that dies, although the store itself lives on: later calls do nothing and never settle. */
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
