import { type Code, ConnectError } from "@connectrpc/connect";
import { A2AError, toA2AError } from "../../core/error.js";
import type { ErrorCodes } from "../../version/version.js";
import { detailsOf } from "../../wire/error-details.js";
import { headersOf } from "../failure.js";

/**
 * Converts an error to Connect's: the code of its reason, its message, its headers, its details with ErrorInfo first.
 * Code that handles it later, such as an interceptor of the host's router, finds the A2AError in `cause`.
 *
 * @param codes codes of another version that differ
 */
export function connectErrorOf(error: A2AError, codes?: ErrorCodes): ConnectError {
  // Connect throws for a lone surrogate, which cannot be percent-encoded.
  const message = error.message.toWellFormed();
  // Both use the numbers of google.rpc.Code. Connect lacks only OK, which an error never has.
  const code = (codes?.[error.reason] ?? error.code) as number as Code;
  const made = new ConnectError(message, code, headersOf(error), [], error);
  made.details = detailsOf(error);
  return made;
}

/** Converts any thrown value for Connect, which reports errors other than its own as "unknown". */
export function forConnect(thrown: unknown): unknown {
  return thrown instanceof A2AError ? connectErrorOf(toA2AError(thrown)) : thrown;
}
