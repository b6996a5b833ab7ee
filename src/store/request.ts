import type { TaskStore } from "./task-store.js";

/** Parameter of a method of the store. */
export type Request<M extends keyof TaskStore> = TaskStore[M] extends (request: infer R) => unknown ? R : never;
