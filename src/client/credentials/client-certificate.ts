import type { Credential } from "../credential.js";

/**
 * Credential: the certificate of `tls`, for schemes with mutual TLS (specification 4.5.6). It says that there is one:
 * `tls.cert` and `tls.key` alone do as well. In browsers the user's settings decide.
 */
export function clientCertificate(): Credential {
  return { fits: ({ scheme }) => scheme.case === "mtlsSecurityScheme", apply: () => {} };
}
