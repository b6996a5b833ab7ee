import { A2AError } from "../core/error.js";
import { lazy } from "../core/lazy.js";
import { MAX_TIMEOUT_MS } from "../wire/service-params.js";

/** An invalid or special timeout of a call, or undefined for a normal one. */
export type DeadlineFault = A2AError | "endless" | undefined;

/**
 * Checks the timeout that a client gives a call, before the call starts. Libraries would start a call whose timeout is
 * 0, and the service would accept its message; and they ignore a timeout that exceeds the maximum of a timer.
 *
 * @param timeoutMs undefined if malformed
 * @returns "endless" for a timeout longer than any timer
 */
export function deadlineFault(timeoutMs: number | undefined): DeadlineFault {
  if (timeoutMs === undefined) return malformed();
  if (timeoutMs === 0) return passed();
  return timeoutMs > MAX_TIMEOUT_MS ? "endless" : undefined;
}

const malformed = lazy(() => new A2AError("INVALID_REQUEST", "The timeout of the call is malformed."));
const passed = lazy(() => new A2AError("DEADLINE_EXCEEDED", "The deadline of the call has passed."));

/** Allowed skew between the client's deadline and ours, in milliseconds. */
const TRANSIT_MS = 250;

/** Returns the reason that a call was aborted. `deadline` is in milliseconds since 1970, or Infinity. */
export function cancellationReason(deadline: number): A2AError {
  // The client counts from when it sent the call, so its deadline passes before ours.
  return deadline <= Date.now() + TRANSIT_MS
    ? new A2AError("DEADLINE_EXCEEDED", "The deadline of the call has passed.")
    : new A2AError("CANCELLED", "The client cancelled the call.");
}
