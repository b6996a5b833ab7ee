import type { Call } from "../../core/call.js";
import { A2AError } from "../../core/error.js";
import { errorEnvelope, type RequestId } from "../../wire/jsonrpc-envelope.js";
import { errorHeaders } from "../failure.js";
import type { Headers } from "../http-exchange.js";

/** What a request object came to: a response object, and what it asks of the HTTP answer. */
export interface Outcome {
  readonly status: number;
  readonly body: string;
  readonly headers: Headers;
  /** Whether it is an error; those are small. */
  readonly isError?: boolean;
  /** In the place of a body that is large. */
  readonly large?: LargeBody;
}

/** A response object that is written piece by piece. */
export interface LargeBody {
  readonly id: RequestId;
  readonly pieces: Iterable<Uint8Array | string>;
  /** About as many as there will be. */
  readonly bytes: number;
  /** To be called when it is written, or never will be. */
  readonly written: () => void;
}

/** Errors that HTTP itself has to hear of; all others are told in a body with status 200. */
const httpStatuses: ReadonlySet<number> = new Set([401, 403, 405, 413, 415]);

/** The response object of a failed call. */
export function failed(id: RequestId, error: A2AError, call?: Call): Outcome {
  const { http } = error.row;
  const status = httpStatuses.has(http) ? http : 200;
  return { status, body: errorEnvelope(id, error), headers: errorHeaders(error, call), isError: true };
}

/** The response object for what is no valid request (specification 9.5: -32600). */
export function invalidRequest(id: RequestId, why: string): Outcome {
  return failed(id, new A2AError("INVALID_REQUEST", `Request payload validation error: ${why}.`));
}

/** The response array of a batch. The HTTP status is that of its members where they agree. */
export function joined(outcomes: readonly Outcome[]): Outcome {
  const [status = 200, ...others] = new Set(outcomes.map((outcome) => outcome.status));
  return {
    status: others.length === 0 ? status : 200,
    body: `[${outcomes.map(({ body }) => body).join(",")}]`,
    // Of several values of a header the last one counts: let it be that of the first member.
    headers: outcomes.toReversed().flatMap(({ headers }) => [...headers]),
  };
}
