/**
 * The part of an AbortSignal that a request needs to end a call early. A call's own implementation is cheaper: an
 * AbortController costs as much as the rest of the client's work for a call.
 */
export interface StopSignal {
  readonly aborted: boolean;
  /** Reason of the abort. */
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
