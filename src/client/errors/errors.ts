import { type Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { A2AError, type Reason, restated, StatusCode, statusNameOf, toA2AError } from "../../core/error.js";
import { membersOf, messageIn } from "../../core/members.js";
import { connectionFailure, isUnconnected, socketFailure } from "../../outgoing/socket-failure.js";
import { detailsOf } from "../../wire/error-details.js";
import { errorOf, type Facts, reasonOfHttp, reasonOfStatus, retryOf } from "./error-facts.js";

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
  if (error instanceof A2AError && isArrivalUnknown(error)) return false;
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
  const own = facts.reason === undefined ? (ofProtocol(rawMessage, code) ?? ofOther(cause)?.reason) : undefined;
  const message = rawMessage || `The call failed: ${statusNameOf(code)}.`;
  return errorOf(facts, message, own ?? reasonOfStatus(code), metadata, error);
}

/** Reads the details of an error. Unreadable ones are skipped. */
export function factsIn(error: ConnectError): Facts {
  const [info] = error.findDetails(ErrorInfoSchema);
  const [bad] = error.findDetails(BadRequestSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  return {
    reason: info?.reason,
    domain: info?.domain,
    metadata: info?.metadata,
    violations: bad?.fieldViolations,
    ...retryOf(retry?.retryDelay),
  };
}

/** Messages of the Connect library's own errors, which have no other mark, about connections that ended too early. */
const cutShort =
  /^(?:(?:protocol error: )?(?:missing (?:EndStreamResponse|trailers?|status)|incomplete envelope|premature |promised \d+ bytes, received )|http\/2 stream closed with error code )/;

/** Messages of the Connect library's own errors about invalid answers. */
const unreadable =
  /^(?:protocol error: |unsupported (?:content type|response encoding) |invalid grpc-status: |parse binary: |invalid end stream$|failed to parse EndStreamResponse|message size (?:\d+ )?is larger than configured readMaxBytes )/;

function ofProtocol(message: string, code: number): Reason | undefined {
  const http = /^HTTP (\d{3})$/.exec(message)?.[1];
  if (http !== undefined) return reasonOfHttp(Number(http));
  // Without a status the end of the answer is missing as well.
  const isWithoutStatus = code === StatusCode.UNKNOWN && /^protocol error: missing output message/.test(message);
  if (isWithoutStatus || cutShort.test(message)) return "UNAVAILABLE";
  return unreadable.test(message) ? "INVALID_AGENT_RESPONSE" : undefined;
}

/** Messages of the TypeErrors that fetch of browsers and Node.js rejects with; they have no other mark. */
const fetching =
  /^(?:fetch failed|failed to fetch|load failed|terminated|network ?error|error in (?:input|body) stream|networkerror when )/i;

/** Messages of the Errors that fetch of Cloudflare's workers rejects with: a lost connection, and a failed one. */
const workerFetching = /^(?:Network connection lost|internal error; reference = )/;

function isOfFetch(name: unknown, text: string): boolean {
  return name === "TypeError" ? fetching.test(text) : name === "Error" && workerFetching.test(text);
}

function ofOther(thrown: unknown): A2AError | undefined {
  const { name, message } = membersOf(thrown);
  const text = typeof message === "string" ? message : "";
  if (name === "AbortError") return new A2AError("CANCELLED", text || "The call was cancelled.", { cause: thrown });
  if (name === "TimeoutError")
    return new A2AError("DEADLINE_EXCEEDED", text || "The call took too long.", { cause: thrown });
  const detail = connectionFailure(thrown) ?? (isOfFetch(name, text) ? text.replace(/\.$/, "") : undefined);
  if (detail === undefined) return undefined;
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
 * True if the server does not serve the call at this address or in this version. It has not handled the call, so the
 * call may be repeated elsewhere.
 */
export function isUnserved({ code, reason }: A2AError): boolean {
  // Only METHOD_NOT_FOUND and METHOD_NOT_ALLOWED have this code.
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

/** Returns the error of a send that may have arrived, with the key for sending it again. */
export function unknownArrival(error: A2AError, { key, isRepeatable }: Partial<SendFacts> = {}): A2AError {
  if (isArrivalUnknown(error)) return error;
  const what = isRepeatable
    ? "it may be sent again with the same idempotency key."
    : "the agent does not say that it may be sent again.";
  return restated(error, {
    message: `${sentence(error.message)} It is not known whether the message arrived; ${what}`,
    metadata: { arrival: "unknown", ...(key !== undefined && { idempotencyKey: key }) },
    cause: error,
  });
}

/** Ends a message with a full stop, so that another sentence can follow. Messages of other servers often lack it. */
export function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

/** True if an error already says that its message may have arrived. */
export function isArrivalUnknown({ metadata }: A2AError): boolean {
  return metadata.arrival === "unknown";
}
