import type { Authenticator } from "../../auth/authenticator.js";
import type { CallerInput } from "../../core/caller.js";
import { A2AError } from "../../core/error.js";
import type { Interceptor } from "../invoke.js";

/** Identifies the caller, and refuses a call without valid credentials (specification 7.4). */
export function authenticate(authenticator: Authenticator): Interceptor {
  return (next) => async (invocation) => {
    const caller: unknown = await authenticator.authenticate(invocation.call);
    // An authenticator in plain JavaScript may return anything; only a caller with an owner is accepted.
    if (!isCaller(caller)) {
      throw new A2AError("UNAUTHENTICATED", "Valid credentials are required.", {
        headers: { "www-authenticate": authenticator.challenge ?? "Bearer" },
      });
    }
    // Absent fields get the values of a caller of whom nothing more is known.
    const { owner, authenticated = true, scopes = [], claims = {} } = caller;
    invocation.call.caller = { owner, authenticated, scopes, claims };
    return next(invocation);
  };
}

function isCaller(value: unknown): value is CallerInput {
  return typeof value === "object" && value !== null && "owner" in value && typeof value.owner === "string";
}
