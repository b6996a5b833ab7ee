import type { A2AError } from "../core/error.js";
import { StoreError } from "../store/task-store.js";

/** True for a store's error about a single operation. An outage of the store is logged once, not for each call. */
export function isStoreFault({ cause }: A2AError): boolean {
  return cause instanceof StoreError && cause.kind !== "unavailable";
}
