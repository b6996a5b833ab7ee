/**
 * What ends a call early: as much of an AbortSignal as a request needs, which is one. The one that a call makes for itself is cheaper, as an
 * AbortController costs as much as all that the client does for a call.
 */
export interface Stop {
  readonly aborted: boolean;
  /** Why it was. */
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** There in Node.js alone; Node.js 20 warns of more than ten listeners. */
const setMaxListeners = globalThis.process?.getBuiltinModule?.("events")?.setMaxListeners;

/** Lets any number of calls listen to a signal that is their caller's, who may give one to all of them. */
export function share(signal: AbortSignal): void {
  setMaxListeners?.(0, signal);
}
