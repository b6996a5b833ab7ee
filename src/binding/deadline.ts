import { A2AError } from "../core/error.js";
import { lazy } from "../core/lazy.js";
import { MAX_TIMEOUT_MS } from "../wire/service-params.js";

/** What becomes of a call because of the time that its client gives it; undefined: it goes on. */
export type DeadlineFault = A2AError | "endless" | undefined;

/**
 * Judges the time that a client gives a call, before anything is done for it: libraries begin a call that has no time
 * left, and a message is accepted by then; and they take what no timer can hold for none at all.
 *
 * @param timeoutMs undefined where it is malformed.
 * @returns "endless" for what is longer than any timer.
 */
export function deadlineFault(timeoutMs: number | undefined): DeadlineFault {
  if (timeoutMs === undefined) return malformed();
  if (timeoutMs === 0) return passed();
  return timeoutMs > MAX_TIMEOUT_MS ? "endless" : undefined;
}

const malformed = lazy(() => new A2AError("INVALID_REQUEST", "The timeout of the call is malformed."));
const passed = lazy(() => new A2AError("DEADLINE_EXCEEDED", "The deadline of the call has passed."));

/** How much earlier than here a client may see its deadline pass, in milliseconds. */
const TRANSIT_MS = 250;

/** Why a call cannot be answered any more. `deadline`: in milliseconds since 1970, Infinity where there is none. */
export function departureOf(deadline: number): A2AError {
  // The client counts from when it sent the call, so its end at the deadline comes before ours.
  return deadline <= Date.now() + TRANSIT_MS
    ? new A2AError("DEADLINE_EXCEEDED", "The deadline of the call has passed.")
    : new A2AError("CANCELLED", "The client cancelled the call.");
}
