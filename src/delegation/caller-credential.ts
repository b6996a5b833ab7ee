import type { Interceptor } from "@connectrpc/connect";
import type { Credential } from "../client/credentials/credential.js";
import { checkEncrypted } from "../client/credentials/secret.js";
import { A2AError } from "../core/error.js";

/**
 * The token of a caller goes with the headers of each call that is made on its behalf, and only to the origin that was named for the
 * other agent: a card may name interfaces anywhere. No other token of the caller would change that, so a refusal is not
 * UNAUTHENTICATED, for which the caller would be asked.
 */
export function callerGuard(origin: string): Interceptor {
  return (next) => (request) => {
    if (!request.header.has("authorization")) return next(request);
    if (new URL(request.url).origin !== origin) {
      const message = `The caller's token goes to ${origin} alone, and the agent's card names ${new URL(request.url).origin}.`;
      throw new A2AError("UNSUPPORTED_OPERATION", message);
    }
    try {
      checkEncrypted(request.url);
    } catch (cause) {
      throw new A2AError("UNSUPPORTED_OPERATION", `The caller's token is not sent unencrypted to ${origin}.`, {
        cause,
      });
    }
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
