import type { Call } from "../../core/call.js";
import { A2AError } from "../../core/error.js";
import type { PiecesBody } from "../../http/pieces.js";
import { type HeaderPairs, type HttpResponse, type Rejection, rejectionOf } from "../../http/response.js";
import type { RequestId } from "../../wire/jsonrpc-envelope.js";
import { JSON_TYPE } from "../../wire/media-type.js";
import { errorHeaders } from "../failure.js";
import type { ErrorShape } from "./methods.js";

/** A response object, usable as the HTTP answer outside a batch. */
export interface RpcResponse extends HttpResponse {
  readonly type: string;
  readonly headers: HeaderPairs;
  readonly body: string | PiecesBody;
  /** True for an error, which is always small. */
  readonly isError?: boolean;
}

/** The response object of an error, which is small. */
type RpcError = RpcResponse & { readonly body: string };

/** Error statuses that are also the HTTP status. All other errors are in a body with status 200. */
const httpStatuses: ReadonlySet<number> = new Set([401, 403, 405, 413, 415]);

/** Name of the binding, for logs. */
export const BINDING = "jsonrpc";

/**
 * Returns the response object of a failed call, or of a request that never became a call, in the format of its version.
 */
export function errorOutcome(shape: ErrorShape, id: RequestId, error: A2AError, call?: Call): RpcError {
  const { http } = error.row;
  const status = httpStatuses.has(http) ? http : 200;
  const [body, headers] = [shape(id, error), errorHeaders(error, call)];
  const response = { status, type: JSON_TYPE, body, headers, isError: true };
  return call === undefined ? errorResponse(response, error) : response;
}

/** Returns the response object of an error that occurred before the call. */
export function errorResponse(response: RpcError, error: A2AError, method?: string): RpcError {
  const rejections: readonly Rejection[] = [rejectionOf(BINDING, error, method)];
  return { ...response, rejections };
}

/** Returns the response object for an invalid request (specification 9.5: -32600). */
export function invalidRequest(shape: ErrorShape, id: RequestId, why: string): RpcError {
  return errorOutcome(shape, id, new A2AError("INVALID_REQUEST", `Request payload validation error: ${why}.`));
}

/** Returns the response array of a batch. The HTTP status is that of its members if they agree. */
export function batchResponse(responses: readonly RpcResponse[]): HttpResponse {
  const [status = 200, ...others] = new Set(responses.map((response) => response.status));
  return {
    status: others.length === 0 ? status : 200,
    type: JSON_TYPE,
    body: `[${responses.map(({ body }) => body).join(",")}]`,
    // The last value of a header wins, so the order is reversed to keep that of the first member.
    headers: responses.toReversed().flatMap(({ headers }) => [...headers]),
    rejections: responses.flatMap(({ rejections = [] }) => rejections),
  };
}
