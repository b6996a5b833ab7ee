import { ForbiddenTarget } from "./guard.js";
import { LookupError } from "./lookup.js";

/** What codes of Node.js, OpenSSL and undici mean. Their own messages have addresses in them. */
const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed before the answer was complete",
  EPIPE: "the connection was closed before the answer was complete",
  UND_ERR_SOCKET: "the connection was closed before the answer was complete",
  ETIMEDOUT: "no connection could be made in time",
  UND_ERR_CONNECT_TIMEOUT: "no connection could be made in time",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the host cannot be reached",
  EADDRNOTAVAIL: "the host cannot be reached",
  UND_ERR_HEADERS_OVERFLOW: "the headers of the answer are too large",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer is not as long as it says",
  UND_ERR_INVALID_ARG: "the request cannot be written",
  UND_ERR_NOT_SUPPORTED: "the request cannot be written",
  UND_ERR_ABORTED: "it was called off",
  UND_ERR_DESTROYED: "the server is shutting down",
  UND_ERR_CLOSED: "the server is shutting down",
  CERT_HAS_EXPIRED: "the certificate of the host has expired",
  CERT_NOT_YET_VALID: "the certificate of the host is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate of the host is not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate of the host is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate of the host is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate of the host is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate of the host is not trusted",
};

/** Why a request failed, in a sentence without addresses and secrets. */
export function reasonOf(error: unknown): string {
  // Made here, so that what they say is known.
  if (error instanceof ForbiddenTarget || error instanceof LookupError) return error.message;
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  if (name === "HTTPParserError") return "the answer is not HTTP/1.1";
  if (typeof code !== "string") return "the request failed";
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") return "TLS could not be agreed on";
  return sentences[code] ?? (/^[A-Z0-9_]{1,60}$/.test(code) ? `the request failed (${code})` : "the request failed");
}
