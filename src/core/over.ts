/**
 * The reason of signals that fire although there is nothing left to stop, and nobody who would look at it. `abort()` alone makes an error
 * each time, with its stack, which costs more than all listeners.
 */
export const over: Error = /* @__PURE__ */ Object.assign(new Error("It is over."), { name: "AbortError" });
