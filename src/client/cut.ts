import { A2AError } from "../core/error.js";

/** What no other attempt changes: the agent has said something about the request itself. */
const definite: ReadonlySet<string> = new Set([
  "TASK_NOT_FOUND",
  "TASK_NOT_CANCELABLE",
  "PUSH_NOTIFICATION_NOT_SUPPORTED",
  "UNSUPPORTED_OPERATION",
  "CONTENT_TYPE_NOT_SUPPORTED",
  "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
  "EXTENSION_SUPPORT_REQUIRED",
  "VERSION_NOT_SUPPORTED",
  "INVALID_PARAMS",
  "INVALID_REQUEST",
  "PARSE_ERROR",
  "UNAUTHENTICATED",
  "PERMISSION_DENIED",
  "HOST_NOT_ALLOWED",
  "METHOD_NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "MEDIA_TYPE_NOT_SUPPORTED",
  "REQUEST_TOO_LARGE",
  "TASK_TOO_LARGE",
  "TASK_DAMAGED",
  "IDEMPOTENCY_KEY_REUSED",
]);

/** Whether a stream that ended with this error may be gone on with: the connection failed, or the server for the moment. */
export function isCut(error: A2AError): boolean {
  return !definite.has(error.reason) || isTornFrame(error);
}

/** Connect's libraries report a stream that ends in the middle of a frame as a mistake in the protocol. */
function isTornFrame(error: A2AError): boolean {
  const cause = error.cause as { name?: unknown; rawMessage?: unknown; details?: unknown } | undefined;
  if (cause?.name !== "ConnectError" || typeof cause.rawMessage !== "string") return false;
  return cause.rawMessage.startsWith("protocol error: ") && Array.isArray(cause.details) && cause.details.length === 0;
}

/** What a caller gets whose message may have arrived, or not. */
export function unknownArrival(error: A2AError): A2AError {
  return new A2AError(
    "UNAVAILABLE",
    `${error.message} It is not known whether the message arrived; the agent does not say that it may be sent again.`,
    {
      metadata: { ...error.metadata, arrival: "unknown" },
      cause: error,
      ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
    },
  );
}

const unconnected = /^(?:ECONNREFUSED|ENOTFOUND|EAI_[A-Z]+|E(?:HOST|NET)UNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Whether an error, or one that it has as its cause, says that there never was a connection. */
export function isUnconnected(error: unknown): boolean {
  for (let each = error, depth = 0; typeof each === "object" && each !== null && depth < 8; depth++) {
    const { code, cause } = each as { code?: unknown; cause?: unknown };
    if (typeof code === "string" && unconnected.test(code)) return true;
    each = cause;
  }
  return false;
}
