/**
 * Tells when a client goes away. An AbortSignal says the same, but costs several microseconds to make and to collect,
 * which every call that waits for its task would pay.
 */
export interface Cancellation {
  /** Whether the client is gone, or its deadline has passed. */
  readonly canceled: boolean;
  /** Calls back when the client goes, at once when it is gone. The result takes the wish back. */
  onCancel(callback: () => void): () => void;
}

const nothing = (): void => {};

/** A client that never goes. */
export const neverCanceled: Cancellation = { canceled: false, onCancel: () => nothing };

/** What a signal says, as a departure. */
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
 * The reason of signals that fire although there is nothing left to stop, and nobody who would look at it. `abort()` alone makes an error
 * each time, with its stack, which costs more than all listeners.
 */
export const over: Error = /* @__PURE__ */ Object.assign(new Error("It is over."), { name: "AbortError" });
