import type { Authenticator } from "../../auth/authenticator.js";
import { A2AError } from "../../core/error.js";
import type { Interceptor } from "../invoke.js";

/** Finds out who calls and refuses who may not (specification 7.4). */
export function authenticate(authenticator: Authenticator): Interceptor {
  return (next) => async (invocation) => {
    const caller = await authenticator.authenticate(invocation.call);
    if (caller === undefined) {
      throw new A2AError("UNAUTHENTICATED", "Valid credentials are required.", {
        headers: { "www-authenticate": authenticator.challenge ?? "Bearer" },
      });
    }
    invocation.call.caller = caller;
    return next(invocation);
  };
}
