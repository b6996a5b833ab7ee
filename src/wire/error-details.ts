import { create, type DescMessage, type JsonObject, type Message, toJson } from "@bufbuild/protobuf";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { type A2AError, StatusCode, type StatusName } from "../core/error.js";

/** One detail of an error, as every wire packs it in its own way. */
export interface ErrorDetail {
  readonly desc: DescMessage;
  readonly value: Message;
}

/**
 * What goes with an error: ErrorInfo first, BadRequest and RetryInfo behind it where there are any (specification 9.5,
 * 10.6, 11.6).
 */
export function detailsOf({ reason, row, metadata, violations, retryAfterMs }: A2AError): ErrorDetail[] {
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
  return details;
}

/** The details of an error as JSON, each with its `@type` as ProtoJSON has it for google.protobuf.Any. */
export function errorDetails(error: A2AError): JsonObject[] {
  return detailsOf(error).map(({ desc, value }) => ({
    "@type": `type.googleapis.com/${desc.typeName}`,
    // What is not a google.protobuf.Value is an object.
    ...(toJson(desc, value) as JsonObject),
  }));
}

const names = new Map(Object.entries(StatusCode).map(([name, code]) => [code, name as StatusName]));

/** The name that goes with a status of HTTP: a path that is not served is not found, as its status says. */
function restStatusName({ row, code }: A2AError): StatusName {
  return row.http === 404 ? "NOT_FOUND" : (names.get(code) ?? "UNKNOWN");
}

/** An error as the body of a REST answer: `google.rpc.Status` in JSON under `error`, with the HTTP status (11.6). */
export function restError(error: A2AError): string {
  const { row, message } = error;
  return JSON.stringify({
    error: { code: row.http, status: restStatusName(error), message, details: errorDetails(error) },
  });
}
