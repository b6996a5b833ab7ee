import type { A2AError } from "../core/error.js";
import { StoreError } from "../store/task-store.js";

/** True if a store refused an operation of its own accord. Its outages are logged once, not for each call. */
export function isStoreFault({ cause }: A2AError): boolean {
  return cause instanceof StoreError && cause.kind !== "unavailable";
}
