import type { Call } from "../../core/call.js";
import { A2AError } from "../../core/error.js";
import { JSON_TYPE } from "../../http/media-type.js";
import type { PiecesBody } from "../../http/pieces.js";
import { type HeaderPairs, type HttpResponse, type Refusal, refusalOf } from "../../http/response.js";
import type { RequestId } from "../../wire/jsonrpc-envelope.js";
import { errorHeaders } from "../failure.js";
import type { ErrorShape } from "./methods.js";

/** A response object, as the answer that it is where it came alone. */
export interface RpcResponse extends HttpResponse {
  readonly type: string;
  readonly headers: HeaderPairs;
  readonly body: string | PiecesBody;
  /** Whether it is an error; those are small. */
  readonly isError?: boolean;
}

/** That of an error, which is small. */
export type RpcError = RpcResponse & { readonly body: string };

/** Errors that HTTP itself has to hear of; all others are told in a body with status 200. */
const httpStatuses: ReadonlySet<number> = new Set([401, 403, 405, 413, 415]);

/** Name of the binding, for logs. */
export const BINDING = "jsonrpc";

/** The response object of what failed, as its version writes it: a call, or, without one, what never became a call. */
export function failed(shape: ErrorShape, id: RequestId, error: A2AError, call?: Call): RpcError {
  const { http } = error.row;
  const status = httpStatuses.has(http) ? http : 200;
  const [body, headers] = [shape(id, error), errorHeaders(error, call)];
  const response = { status, type: JSON_TYPE, body, headers, isError: true };
  return call === undefined ? refused(response, error) : response;
}

/** The response object of an error, where no call was made of the request object. */
export function refused(response: RpcError, error: A2AError, method?: string): RpcError {
  const refusals: readonly Refusal[] = [refusalOf(BINDING, error, method)];
  return { ...response, refusals };
}

/** The response object for what is no valid request (specification 9.5: -32600). */
export function invalidRequest(shape: ErrorShape, id: RequestId, why: string): RpcError {
  return failed(shape, id, new A2AError("INVALID_REQUEST", `Request payload validation error: ${why}.`));
}

/** The response array of a batch. The HTTP status is that of its members where they agree. */
export function joined(responses: readonly RpcResponse[]): HttpResponse {
  const [status = 200, ...others] = new Set(responses.map((response) => response.status));
  return {
    status: others.length === 0 ? status : 200,
    type: JSON_TYPE,
    body: `[${responses.map(({ body }) => body).join(",")}]`,
    // Of several values of a header the last one counts: let it be that of the first member.
    headers: responses.toReversed().flatMap(({ headers }) => [...headers]),
    refusals: responses.flatMap(({ refusals = [] }) => refusals),
  };
}
