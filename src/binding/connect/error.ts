import { type Code, ConnectError } from "@connectrpc/connect";
import { A2AError, toA2AError } from "../../core/error.js";
import type { ErrorCodes } from "../../version/version.js";
import { detailsOf } from "../../wire/error-details.js";
import { headersOf } from "../failure.js";

/**
 * An error as Connect writes it: the code of its reason, its text, its headers, its details with ErrorInfo first. Code
 * on the way, such as an interceptor of the host's router, finds the A2AError in `cause`.
 *
 * @param codes those of another version, where they differ
 */
export function connectErrorOf(error: A2AError, codes?: ErrorCodes): ConnectError {
  // Half a surrogate pair cannot be percent-encoded, and Connect throws at it.
  const message = error.message.toWellFormed();
  // Both number their codes as google.rpc.Code does, and an error is never OK, the only one that Connect leaves out.
  const code = (codes?.[error.reason] ?? error.code) as number as Code;
  const made = new ConnectError(message, code, headersOf(error), [], error);
  made.details = detailsOf(error);
  return made;
}

/** Anything thrown, for Connect, which reports all but its own errors as "unknown". */
export function forConnect(thrown: unknown): unknown {
  return thrown instanceof A2AError ? connectErrorOf(toA2AError(thrown)) : thrown;
}
