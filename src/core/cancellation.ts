/**
 * Notifies of the client's departure. An AbortSignal does the same, but takes several microseconds to create and
 * collect, a cost for every call that waits for its task.
 */
export interface Cancellation {
  /** True if the client is gone or its deadline has passed. */
  readonly canceled: boolean;
  /** Calls back when the client leaves, or at once if it is gone. Returns a function that removes the callback. */
  onCancel(callback: () => void): () => void;
}

const nothing = (): void => {};

/** A client that never leaves. */
export const neverCanceled: Cancellation = { canceled: false, onCancel: () => nothing };

/** Adapts an AbortSignal to a Cancellation. */
export function cancellationOf(signal: AbortSignal): Cancellation {
  return {
    get canceled() {
      return signal.aborted;
    },
    onCancel(callback) {
      if (signal.aborted) callback();
      else signal.addEventListener("abort", callback, { once: true });
      return () => signal.removeEventListener("abort", callback);
    },
  };
}

/**
 * Abort reason used after normal completion, when no listener is left. `abort()` without a reason creates an error with
 * its stack each time, which costs more than all listeners.
 */
export const over: Error = /* @__PURE__ */ Object.assign(new Error("It is over."), { name: "AbortError" });
