import { A2AError, type Reason } from "../core/error.js";

/** What passes by itself, or with the connection; anything else is the agent's answer. */
const passing: ReadonlySet<Reason> = new Set<Reason>([
  "UNAVAILABLE",
  "TOO_MANY_REQUESTS",
  // What a proxy makes of a connection that it gives up, and HTTP/2 of a stream that is reset.
  "DEADLINE_EXCEEDED",
  "CANCELLED",
  "INTERNAL",
]);

/** Whether a stream that ended with this error may be gone on with: the connection failed, or the server for the moment. */
export function isCut({ reason }: A2AError): boolean {
  return passing.has(reason);
}

/** Whether it is known that nobody but the server's absence, or its load, is to blame: then it is tried for as long as there is time. */
export function isAbsence({ reason }: A2AError): boolean {
  return reason === "UNAVAILABLE" || reason === "TOO_MANY_REQUESTS";
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
