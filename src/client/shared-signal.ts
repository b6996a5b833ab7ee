/** There in Node.js alone; Node.js 20 warns of more than ten listeners. */
const setMaxListeners = globalThis.process?.getBuiltinModule?.("events")?.setMaxListeners;

/** Lets any number of calls listen to a signal that is their caller's, who may give one to all of them. */
export function share(signal: AbortSignal): void {
  setMaxListeners?.(0, signal);
}
