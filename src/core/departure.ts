/**
 * Tells when a client goes away. An AbortSignal says the same, but costs several microseconds to make and to collect,
 * which every call that waits for its task would pay.
 */
export interface Departure {
  /** Whether the client is gone, or its deadline has passed. */
  readonly gone: boolean;
  /** Calls back when the client goes, at once when it is gone. The result takes the wish back. */
  onGone(callback: () => void): () => void;
}

const nothing = (): void => {};

/** A client that never goes. */
export const stays: Departure = { gone: false, onGone: () => nothing };

/** What a signal says, as a departure. */
export function departureOf(signal: AbortSignal): Departure {
  return {
    get gone() {
      return signal.aborted;
    },
    onGone(callback) {
      if (signal.aborted) callback();
      else signal.addEventListener("abort", callback, { once: true });
      return () => signal.removeEventListener("abort", callback);
    },
  };
}
