import { type Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { A2AError, type Reason, restated, StatusCode, toA2AError } from "../../core/error.js";
import { membersOf, messageIn } from "../../core/members.js";
import { isUnconnected, socketFailure } from "../../outgoing/socket-failure.js";
import { detailsOf } from "../../wire/error-details.js";
import { errorOf, type Facts, reasonOfHttp, reasonOfStatus, retryAfter } from "./error-facts.js";

/**
 * Converts anything that a call threw, over any binding, to an A2AError with reason, metadata, violations and retry
 * delay. Without details from the server the codes decide, those of release 1.0.0 included. Never throws; an A2AError
 * is returned unchanged.
 */
export function clientError(thrown: unknown): A2AError {
  if (thrown instanceof A2AError) return toA2AError(thrown);
  try {
    if (thrown instanceof ConnectError) return ofConnectError(thrown);
    return ofOther(thrown) ?? unexpected(thrown);
  } catch {
    return new A2AError("INTERNAL", "The call failed.", { cause: thrown });
  }
}

/**
 * Reports whether an error proves that the server has not processed the call: no connection, or REFUSED_STREAM or
 * GOAWAY of HTTP/2 (RFC 9113, 8.7). False if that is unknown, as in browsers.
 */
export function neverArrived(error: unknown): boolean {
  // An earlier attempt of the same call may have arrived.
  if (error instanceof A2AError && error.metadata.arrival === "unknown") return false;
  return isUnconnected(error);
}

/**
 * Converts an error to a ConnectError for Connect callers: code, text, headers and details, with the A2AError as
 * `cause`.
 */
export function connectErrorOf(error: A2AError): ConnectError {
  // Both use the codes of google.rpc.Code. An error is never OK, the only code that Connect lacks.
  const made = new ConnectError(error.message, error.code as number as Code, error.headers, [], error);
  made.details = detailsOf(error);
  return made;
}

/** Returns the error for a failed socket. Errors of other kinds are programming errors. */
export function hostUnavailable(cause: unknown, host: string): A2AError {
  return new A2AError("UNAVAILABLE", `${host} cannot be reached: ${socketFailure(cause)}.`, { cause });
}

function ofConnectError(error: ConnectError): A2AError {
  const { cause, code, rawMessage, metadata } = error;
  if (cause instanceof A2AError) return toA2AError(cause);
  const facts = factsIn(error);
  if (facts.reason !== undefined) return errorOf(facts, rawMessage, reasonOfStatus(code), metadata, error);
  const reason = ofProtocol(rawMessage, code) ?? ofOther(cause)?.reason ?? reasonOfStatus(code);
  return errorOf(
    facts,
    rawMessage === "" ? `The call failed: ${StatusNames[code] ?? code}.` : rawMessage,
    reason,
    metadata,
    error,
  );
}

const StatusNames: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(StatusCode).map(([name, code]) => [code, name]),
);

function factsIn(error: ConnectError): Facts {
  if (error.details.length === 0) return {};
  const [info] = error.findDetails(ErrorInfoSchema);
  const [bad] = error.findDetails(BadRequestSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  return {
    reason: info?.reason,
    domain: info?.domain,
    metadata: info?.metadata,
    violations: bad?.fieldViolations,
    retryAfterMs: retryAfter(retry?.retryDelay),
  };
}

/** Messages of the Connect library's own errors, which have no other mark. */
const sentences: readonly (readonly [RegExp, Reason])[] = [
  // The connection ended too early.
  [
    /^(?:protocol error: )?(?:missing (?:EndStreamResponse|trailers?|status)|incomplete envelope|premature |promised \d+ bytes, received )/,
    "UNAVAILABLE",
  ],
  [/^http\/2 stream closed with error code /, "UNAVAILABLE"],
  [/^(?:protocol error: |unsupported content type |unsupported response encoding )/, "INVALID_AGENT_RESPONSE"],
  [
    /^(?:invalid grpc-status: |parse binary: |invalid end stream$|failed to parse EndStreamResponse)/,
    "INVALID_AGENT_RESPONSE",
  ],
  [/^message size (?:\d+ )?is larger than configured readMaxBytes /, "INVALID_AGENT_RESPONSE"],
];

function ofProtocol(message: string, code: number): Reason | undefined {
  const http = /^HTTP (\d{3})$/.exec(message)?.[1];
  if (http !== undefined) return reasonOfHttp(Number(http));
  // Without a status the end of the answer is missing as well.
  if (code === StatusCode.UNKNOWN && /^protocol error: missing output message/.test(message)) return "UNAVAILABLE";
  return sentences.find(([pattern]) => pattern.test(message))?.[1];
}

/** Codes of connection errors. */
const connection =
  /^(?:E[A-Z]{3,}|EAI_[A-Z]+|UND_ERR_[A-Z_]+|ERR_(?:HTTP2|SSL|TLS|STREAM)_[A-Z0-9_]+|CERT_[A-Z_]+|[A-Z_]*SELF_SIGNED[A-Z_]*|UNABLE_TO_[A-Z_]+|HPE_[A-Z_]+)$/;

/** Messages of the TypeErrors that fetch of browsers and Node.js rejects with; they have no other mark. */
const fetching =
  /^(?:fetch failed|failed to fetch|load failed|terminated|network ?error|error in (?:input|body) stream|networkerror when )/i;

/** Messages of the Errors that fetch of Cloudflare's workers rejects with: a lost connection, and a failed one. */
const workerFetching = /^(?:Network connection lost|internal error; reference = )/;

function isOfFetch(name: unknown, text: string): boolean {
  return (name === "TypeError" && fetching.test(text)) || (name === "Error" && workerFetching.test(text));
}

function ofOther(thrown: unknown): A2AError | undefined {
  const { name, message, cause, code = membersOf(cause).code } = membersOf(thrown);
  const text = typeof message === "string" ? message : "";
  if (name === "AbortError") return new A2AError("CANCELLED", text || "The call was cancelled.", { cause: thrown });
  if (name === "TimeoutError")
    return new A2AError("DEADLINE_EXCEEDED", text || "The call took too long.", { cause: thrown });
  const isConnection = typeof code === "string" && connection.test(code);
  if (!isConnection && !isOfFetch(name, text)) return undefined;
  const detail = isConnection ? socketFailure({ code, name }) : text.replace(/\.$/, "");
  return new A2AError("UNAVAILABLE", `The server cannot be reached: ${detail}.`, { cause: thrown });
}

function unexpected(thrown: unknown): A2AError {
  const detail = messageIn(thrown);
  return new A2AError("INTERNAL", detail === "" ? "The call failed." : detail, { cause: thrown });
}

/** Transient errors; any other is the agent's answer. */
const passing: ReadonlySet<Reason> = new Set<Reason>([
  "UNAVAILABLE",
  "TOO_MANY_REQUESTS",
  // Reported by a proxy that gives a connection up, and by HTTP/2 for a reset stream.
  "DEADLINE_EXCEEDED",
  "CANCELLED",
  "INTERNAL",
]);

/** True if a stream that ended with this error may be resumed: the connection or the server failed temporarily. */
export function isCut({ reason }: A2AError): boolean {
  return passing.has(reason);
}

/**
 * True if the server does not serve the call where it was sent, or not in its version. It has not handled the call,
 * which may be repeated elsewhere, then.
 */
export function isUnserved({ code, reason }: A2AError): boolean {
  // The code of METHOD_NOT_FOUND and METHOD_NOT_ALLOWED.
  return code === StatusCode.UNIMPLEMENTED || reason === "VERSION_NOT_SUPPORTED";
}

/** Tells whether an error leaves open that a message arrived, because no answer came. */
export function saysNothing({ reason }: A2AError): boolean {
  return reason === "UNAVAILABLE" || reason === "DEADLINE_EXCEEDED";
}

/** Facts about a failed send. */
interface SendFacts {
  /** Its idempotency key, which is the caller's own and not secret; undefined if it had none. */
  readonly key: string | undefined;
  /** True if the agent processes sends with the same key once. */
  readonly isRepeatable: boolean;
}

const unkeyed: SendFacts = { key: undefined, isRepeatable: false };

/** Returns the error of a send that may have arrived, with the key for sending it again. */
export function unknownArrival(error: A2AError, facts: SendFacts = unkeyed): A2AError {
  if (isArrivalUnknown(error)) return error;
  const { key, isRepeatable } = facts;
  const what = isRepeatable
    ? "it may be sent again with the same idempotency key."
    : "the agent does not say that it may be sent again.";
  return restated(error, {
    message: `${error.message} It is not known whether the message arrived; ${what}`,
    metadata: { arrival: "unknown", ...(key !== undefined && { idempotencyKey: key }) },
    cause: error,
  });
}

/** True if an error already says that its message may have arrived. */
export function isArrivalUnknown({ metadata }: A2AError): boolean {
  return metadata.arrival === "unknown";
}
