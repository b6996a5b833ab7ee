import type { TaskStore } from "../../src/store/task-store.js";

/** Numbers from 0 to 1 that the same seed gives again (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface SlowOptions {
  /** A number from 0 to 1 for every decision. */
  readonly random: () => number;
  /** Maximum delay on each side of a call, in milliseconds. */
  readonly maxMs?: number;
}

/**
 * A store with random delays before and after each call. Concurrent calls may change places, and other callers may see
 * a write before its own caller learns of it.
 */
export function slowStore(store: TaskStore, { random, maxMs = 4 }: SlowOptions): TaskStore {
  const delay = (): Promise<void> | undefined => {
    const draw = random();
    if (draw < 0.3) return undefined;
    if (draw < 0.6) return new Promise((resolve) => setImmediate(resolve));
    return new Promise((resolve) => setTimeout(resolve, ((draw - 0.6) / 0.4) * maxMs));
  };
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function" || name === "close")
        return typeof value === "function" ? value.bind(target) : value;
      return async (...args: unknown[]) => {
        await delay();
        try {
          return await (value as (...a: unknown[]) => unknown).apply(target, args);
        } finally {
          await delay();
        }
      };
    },
  });
}

/** A store that a test can make hang. */
export interface HangingStore {
  readonly store: TaskStore;
  /** Makes its methods hang, or those that were named. */
  hang(): void;
  /** Lets all methods continue, including pending calls. */
  go(): void;
}

/** @param names the methods that hang when it does; all of them, `close` included, by default */
export function hangingStore(inner: TaskStore, names?: readonly (keyof TaskStore)[]): HangingStore {
  let gate: Promise<void> | undefined;
  let open = (): void => {};
  const store = new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const hangs = names === undefined || names.includes(name as keyof TaskStore);
      return async (...args: unknown[]) => {
        if (hangs) await gate;
        return (value as (...a: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  return {
    store,
    hang() {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    go() {
      gate = undefined;
      open();
    },
  };
}
