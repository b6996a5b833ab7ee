import { A2AError } from "../../core/error.js";

/** How much earlier than here a client may see its deadline pass, in milliseconds. */
const TRANSIT_MS = 250;

/** Why a call cannot be answered any more. `deadline`: in milliseconds since 1970, Infinity where there is none. */
export function departureOf(deadline: number): A2AError {
  // The client counts from when it sent the call, so its end at the deadline comes before ours.
  return deadline <= Date.now() + TRANSIT_MS
    ? new A2AError("DEADLINE_EXCEEDED", "The deadline of the call has passed.")
    : new A2AError("CANCELLED", "The client cancelled the call.");
}
