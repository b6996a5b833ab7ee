// Hints between the processes that share a store, and ways to carry them.

export type { Carrier } from "./carrier.js";
export { localSignals, SignalHub } from "./hub.js";
export type * from "./signals.js";
