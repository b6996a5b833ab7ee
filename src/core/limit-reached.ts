import { A2AError } from "./error.js";
import type { Limits } from "./limits.js";

/**
 * The error of a limit that keeps a call out for now: 429 and RESOURCE_EXHAUSTED, with the name of the limit (`metadata.limit`) and
 * when to try again, in milliseconds.
 */
export function limitReached(limit: keyof Limits, message: string, retryAfterMs = 1_000): A2AError {
  return new A2AError("TOO_MANY_REQUESTS", message, { metadata: { limit }, retryAfterMs });
}
