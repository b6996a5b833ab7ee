import { membersOf } from "../core/members.js";

/** Descriptions of error codes of Node.js, OpenSSL and undici, whose own messages contain addresses. */
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
  REFUSED_STREAM: "it did not take the request",
  ENOTFOUND: "the host name does not exist",
  EAI_AGAIN: "the name of the host cannot be looked up",
  UND_ERR_HEADERS_OVERFLOW: "the headers of the answer are too large",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer is not as long as it says",
  UND_ERR_INVALID_ARG: "the request cannot be written",
  UND_ERR_NOT_SUPPORTED: "the request cannot be written",
  UND_ERR_ABORTED: "it was called off",
  ERR_SSL_WRONG_VERSION_NUMBER: "the port does not speak TLS",
  CERT_HAS_EXPIRED: "the certificate of the host has expired",
  CERT_NOT_YET_VALID: "the certificate of the host is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate of the host is not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate of the host is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate of the host is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate of the host is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate of the host is not trusted",
};

/**
 * Describes the failure of a request in a sentence without addresses and secrets, from the code and name of a library's
 * error.
 */
export function socketFailure(error: unknown): string {
  const { code, name } = membersOf(error);
  if (name === "HTTPParserError") return "the answer is not HTTP/1.1";
  if (typeof code !== "string") return "the request failed";
  const sentence = sentences[code];
  if (sentence !== undefined) return sentence;
  if (isTlsFailure(code)) return "TLS could not be agreed on";
  return /^[A-Z0-9_]{1,60}$/.test(code) ? `the request failed (${code})` : "the request failed";
}

/** Codes of connection errors. */
const connection =
  /^(?:E[A-Z]{3,}|EAI_[A-Z]+|UND_ERR_[A-Z_]+|ERR_(?:HTTP2|SSL|TLS|STREAM)_[A-Z0-9_]+|CERT_[A-Z_]+|[A-Z_]*SELF_SIGNED[A-Z_]*|UNABLE_TO_[A-Z_]+|HPE_[A-Z_]+)$/;

/** Describes an error whose own code, or that of its cause, is of a connection; undefined for any other. */
export function connectionFailure(error: unknown): string | undefined {
  const { name, cause, code = membersOf(cause).code } = membersOf(error);
  return typeof code === "string" && connection.test(code) ? socketFailure({ code, name }) : undefined;
}

/**
 * Failures before a connection exists, so that nothing of the request was sent, and HTTP/2 requests that the server
 * refused to start.
 */
const unconnected =
  /^(?:REFUSED_STREAM|ECONNREFUSED|ENOTFOUND|EAI_[A-Z]+|E(?:HOST|NET)UNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;
const untrusted = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_)/;

/**
 * Returns true if an error or one of its causes shows that the server has not started the request, such as a failed
 * connect.
 */
export function isUnconnected(error: unknown): boolean {
  for (let each = error, depth = 0; typeof each === "object" && each !== null && depth < 8; depth++) {
    const { code, syscall, cause } = membersOf(each);
    if (typeof code === "string") {
      if (unconnected.test(code) || untrusted.test(code) || isTlsFailure(code)) return true;
      if (code === "ETIMEDOUT" && syscall === "connect") return true;
    }
    each = cause;
  }
  return false;
}

function isTlsFailure(code: string): boolean {
  return code.startsWith("ERR_SSL_") || code === "EPROTO";
}
