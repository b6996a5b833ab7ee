import type { Authenticator } from "../../auth/authenticator.js";
import type { CallerInput } from "../../core/caller.js";
import { A2AError } from "../../core/error.js";
import type { Interceptor } from "../invoke.js";

/** Finds out who calls and refuses who may not (specification 7.4). */
export function authenticate(authenticator: Authenticator): Interceptor {
  return (next) => async (invocation) => {
    const caller: unknown = await authenticator.authenticate(invocation.call);
    // Whatever an authenticator without a type checker answers, only a caller with an owner gets in.
    if (!isCaller(caller)) {
      throw new A2AError("UNAUTHENTICATED", "Valid credentials are required.", {
        headers: { "www-authenticate": authenticator.challenge ?? "Bearer" },
      });
    }
    // What it leaves out says nothing more of the caller.
    const { owner, authenticated = true, scopes = [], claims = {} } = caller;
    invocation.call.caller = { owner, authenticated, scopes, claims };
    return next(invocation);
  };
}

function isCaller(value: unknown): value is CallerInput {
  return typeof value === "object" && value !== null && "owner" in value && typeof value.owner === "string";
}
