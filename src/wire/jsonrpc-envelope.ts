import type { A2AError } from "../core/error.js";
import { errorDetails } from "./error-details.js";
import { isJsonObject } from "./json-struct.js";

/** Identifies a request. The answer repeats it with its type. */
export type RequestId = string | number | null;

/** A request object. Without an id it is a notification, which gets no answer. */
export interface RpcRequest {
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: unknown;
}

/** A value that is not a request object. Its id is null if it has no readable one. */
export interface RpcFault {
  readonly id: RequestId;
  readonly fault: string;
  /** The request, if only its version of JSON-RPC is missing. */
  readonly unversioned?: RpcRequest;
}

/** Reads a request object (JSON-RPC 2.0, section 4; specification 9.3). */
export function parseRequest(json: unknown): RpcRequest | RpcFault {
  if (!isJsonObject(json)) return { id: null, fault: "a request must be an object" };
  const { jsonrpc, id, method, params } = json;
  if (!isRequestId(id)) return { id: null, fault: "id must be a string, null, or a number without loss of precision" };
  const known = id ?? null;
  if (jsonrpc !== "2.0") {
    const fault = { id: known, fault: 'jsonrpc must be "2.0"' };
    if (jsonrpc !== undefined || typeof method !== "string") return fault;
    return { ...fault, unversioned: { id, method, params } };
  }
  if (typeof method !== "string") return { id: known, fault: "method must be a string" };
  return { id, method, params };
}

/** Rejects numbers that JSON.parse may have rounded, because the answer could not repeat them exactly. */
function isRequestId(id: unknown): id is RequestId | undefined {
  if (typeof id === "number") return Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id));
  return id === undefined || id === null || typeof id === "string";
}

/** Returns the text before a result, which `}` completes. It is the same for every frame of a stream. */
export function resultPrefix(id: RequestId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
}

/** Returns the response object of a failed call, with the code of its reason. */
export function errorEnvelope(id: RequestId, error: A2AError): string {
  const data = errorDetails(error);
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code: error.row.jsonrpc, message: error.message, data } });
}
