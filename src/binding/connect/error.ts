import { type Code, ConnectError } from "@connectrpc/connect";
import { A2AError, toA2AError } from "../../core/error.js";
import { detailsOf } from "../../wire/error-details.js";

/**
 * An error as Connect writes it: the code of its reason, its text, its headers, its details with ErrorInfo first. Who
 * sees it on the way, such as an interceptor of a router that the service is mounted in, finds ours in `cause`.
 */
export function connectErrorOf(error: A2AError): ConnectError {
  // Half a surrogate pair cannot be percent-encoded, and Connect throws at it.
  const message = error.message.toWellFormed();
  // Both number their codes as google.rpc.Code does, and an error is never OK, the only one that Connect leaves out.
  const made = new ConnectError(message, error.code as number as Code, error.headers, [], error);
  made.details = detailsOf(error);
  return made;
}

/** Anything thrown where Connect catches it: whatever is no error of its own is "unknown" there. */
export function forConnect(thrown: unknown): unknown {
  return thrown instanceof A2AError ? connectErrorOf(toA2AError(thrown)) : thrown;
}
