import type { SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Credential, CredentialTarget } from "./credential.js";
import { checkForm, headerForm, type Secret, type SentOptions, secretCredential } from "./secret.js";

/**
 * Credential: a bearer token (RFC 6750) for HTTP `Bearer`, OAuth 2.0 and OpenID Connect (specification 4.5.3 to 4.5.5).
 * A function is called for each call, and again after the server rejects its token.
 *
 * @throws TypeError for a token that cannot be sent.
 */
export function bearer(token: Secret, options: SentOptions = {}): Credential {
  return secretCredential(token, { name: "The token", form: headerForm, fits: takesBearer, put: putBearer }, options);
}

/** True if a bearer token of any issuer satisfies a scheme. */
export function takesBearer({ scheme }: SecurityScheme): boolean {
  if (scheme.case === "httpAuthSecurityScheme") return scheme.value.scheme.toLowerCase() === "bearer";
  return scheme.case === "oauth2SecurityScheme" || scheme.case === "openIdConnectSecurityScheme";
}

/** @throws A2AError for a token that a header cannot carry, without its text. */
export function putBearer({ header }: CredentialTarget, token: string): void {
  checkForm(token, headerForm);
  header.set("authorization", `Bearer ${token}`);
}
