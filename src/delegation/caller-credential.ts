import type { Interceptor } from "@connectrpc/connect";
import type { Credential } from "../client/credential.js";
import { checkEncrypted } from "../client/credentials/secret.js";
import { A2AError } from "../core/error.js";

/**
 * The token of a caller goes with the headers of each call that is made on its behalf, and only to the origin that was named for the
 * other agent: a card may name interfaces anywhere.
 */
export function callerGuard(origin: string): Interceptor {
  return (next) => (request) => {
    if (!request.header.has("authorization")) return next(request);
    if (new URL(request.url).origin !== origin) {
      throw new A2AError("UNAUTHENTICATED", "The caller's token goes to no other origin than that of the agent's URL.");
    }
    checkEncrypted(request.url);
    return next(request);
  };
}

/** Satisfies the schemes that take a bearer token by the caller's, which calls on its behalf have by themselves. */
export const callerCredential: Credential = {
  fits: ({ scheme }) => {
    if (scheme.case === "httpAuthSecurityScheme") return /^bearer$/i.test(scheme.value.scheme);
    return scheme.case === "oauth2SecurityScheme" || scheme.case === "openIdConnectSecurityScheme";
  },
  apply: ({ header }) => {
    if (!header.has("authorization")) throw new A2AError("UNAUTHENTICATED", "The call has no caller.");
  },
};
