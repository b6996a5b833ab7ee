import { create, type DescMessage, type JsonObject, type Message, toJson } from "@bufbuild/protobuf";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.js";
import { type A2AError, StatusCode, type StatusName } from "../core/error.js";

/** One detail of an error. Each binding encodes it in its own way. */
export interface ErrorDetail {
  readonly desc: DescMessage;
  readonly value: Message;
}

const requestIds = new WeakMap<A2AError, string>();

/** Adds a request id to the details of an error, so that its client can name the log lines about it. */
export function noteRequestId(error: A2AError, requestId: string): void {
  requestIds.set(error, requestId);
}

/**
 * Returns the details of an error: ErrorInfo first, then BadRequest, RetryInfo and RequestInfo if they apply
 * (specification 9.5, 10.6, 11.6).
 */
export function detailsOf(error: A2AError): ErrorDetail[] {
  const { reason, row, metadata, violations, retryAfterMs } = error;
  const info = create(ErrorInfoSchema, { reason, domain: row.domain, metadata: { ...metadata } });
  const details: ErrorDetail[] = [{ desc: ErrorInfoSchema, value: info }];
  if (violations.length > 0) {
    const fieldViolations = violations.map(({ field, description }) => ({ field, description }));
    details.push({ desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations }) });
  }
  if (retryAfterMs !== undefined) {
    const seconds = BigInt(Math.floor(retryAfterMs / 1000));
    const retryDelay = { seconds, nanos: Math.round((retryAfterMs % 1000) * 1_000_000) };
    details.push({ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay }) });
  }
  const requestId = requestIds.get(error);
  if (requestId !== undefined) {
    details.push({ desc: RequestInfoSchema, value: create(RequestInfoSchema, { requestId }) });
  }
  return details;
}

/** Returns the details of an error as JSON, each with its `@type` as in ProtoJSON's google.protobuf.Any. */
export function errorDetails(error: A2AError): JsonObject[] {
  return detailsOf(error).map(({ desc, value }) => ({
    "@type": `type.googleapis.com/${desc.typeName}`,
    // The JSON of any message type but google.protobuf.Value is an object.
    ...(toJson(desc, value) as JsonObject),
  }));
}

const names = new Map(Object.entries(StatusCode).map(([name, code]) => [code, name as StatusName]));

/** Returns the status name for the HTTP status: NOT_FOUND for 404, also for a path that is not served. */
function restStatusName({ row, code }: A2AError): StatusName {
  return row.http === 404 ? "NOT_FOUND" : (names.get(code) ?? "UNKNOWN");
}

/**
 * Returns an error as the body of a REST answer: `google.rpc.Status` in JSON under `error`, with the HTTP status
 * (11.6).
 */
export function restError(error: A2AError): string {
  const { row, message } = error;
  return JSON.stringify({
    error: { code: row.http, status: restStatusName(error), message, details: errorDetails(error) },
  });
}
