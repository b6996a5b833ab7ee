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
