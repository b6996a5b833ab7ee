import { A2AError, toA2AError } from "../../core/error.js";
import type { Logger } from "../../core/log.js";

/** Whether nobody waits for the answer any more, and why. */
type Ended = Pick<AbortSignal, "aborted" | "reason">;

/**
 * Anything thrown while a call was answered, as the error that Connect writes to the wire: code, message, details
 * with ErrorInfo first, and headers. What leaves as an internal error is logged with its cause; what comes of a
 * deadline or of the client's leaving is no failure.
 */
export function failureOf(thrown: unknown, signal: Ended, logger: Logger, facts: object): A2AError {
  const error = toA2AError(thrown);
  if (error.reason !== "INTERNAL") return error;
  const err = error.cause ?? error;
  if (signal.aborted) {
    logger.debug({ ...facts, err }, "a call ended after its client had left");
    return reasonOf(signal);
  }
  logger.error({ ...facts, err }, "a call failed");
  return error;
}

/** Why a call cannot be answered any more: its deadline, or else its client. */
function reasonOf(signal: Ended): A2AError {
  const error = toA2AError(signal.reason);
  return error.reason === "INTERNAL" ? new A2AError("CANCELLED", "The client cancelled the call.") : error;
}
