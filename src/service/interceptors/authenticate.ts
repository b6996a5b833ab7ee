import type { Authenticator } from "../../auth/authenticator.js";
import type { Caller } from "../../core/caller.js";
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
    invocation.call.caller = { ...nothingMore, ...caller };
    return next(invocation);
  };
}

const nothingMore = { authenticated: true, scopes: [], claims: {} };

function isCaller(value: unknown): value is Caller {
  return typeof value === "object" && value !== null && "owner" in value && typeof value.owner === "string";
}
