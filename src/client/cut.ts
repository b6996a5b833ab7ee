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

/** Tells if an error leaves open whether a message arrived: no answer came. */
export function saysNothing({ reason }: A2AError): boolean {
  return reason === "UNAVAILABLE" || reason === "DEADLINE_EXCEEDED";
}

/** What is known of a send besides how it failed. */
export interface SendFacts {
  /** Its idempotency key: its own caller's, so no secret; undefined: it had none. */
  readonly key: string | undefined;
  /** The agent takes what has the same key once. */
  readonly isRepeatable: boolean;
}

const unkeyed: SendFacts = { key: undefined, isRepeatable: false };

/** What a caller gets whose message may have arrived, or not: the failure, with the key to send it again by. */
export function unknownArrival(error: A2AError, facts: SendFacts = unkeyed): A2AError {
  if (isArrivalUnknown(error)) return error;
  const { key, isRepeatable } = facts;
  const what = isRepeatable
    ? "it may be sent again with the same idempotency key."
    : "the agent does not say that it may be sent again.";
  const { reason, message, metadata, violations, retryAfterMs, headers } = error;
  return new A2AError(reason, `${message} It is not known whether the message arrived; ${what}`, {
    metadata: { ...metadata, arrival: "unknown", ...(key !== undefined && { idempotencyKey: key }) },
    violations,
    headers: Object.fromEntries(headers),
    cause: error,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Whether an error tells already that its message may have arrived. */
export function isArrivalUnknown({ metadata }: A2AError): boolean {
  return metadata.arrival === "unknown";
}
