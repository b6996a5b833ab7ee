import { Code, ConnectError } from "@connectrpc/connect";
import { encodeEnvelope, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  endStreamFlag,
  endStreamFromJson,
  endStreamToJson,
  errorFromJsonBytes,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { findTrailerError, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { A2AError, type Reason } from "../../core/error.js";
import type { HttpResponse } from "../../http/response.js";
import { PREFIX_BYTES } from "../../wire/binary-output.js";
import { detailsOf } from "../../wire/error-details.js";
import { isConnectStreamType, isGrpcType, isGrpcWebType } from "../../wire/media-type.js";
import { jsonOptions } from "./definition.js";

/**
 * Adds ErrorInfo to an error that Connect itself has answered before a call began, such as for an unknown compression or
 * an incomplete envelope. Its code and message stay.
 *
 * @param body the only chunk of the answer
 * @returns the changed parts of the answer; undefined for other answers, and for errors that already have details
 */
export function explained(
  { status, header, trailer }: UniversalServerResponse,
  body: Uint8Array | undefined,
): Partial<HttpResponse> | undefined {
  const headers = new Headers(header);
  const type = headers.get("content-type");
  if (isGrpcType(type) && !isGrpcWebType(type)) {
    const trailers = new Headers(trailer);
    const error = detailed(findTrailerError(trailers));
    return error && { trailers: setTrailerStatus(trailers, error) };
  }
  if (body === undefined) return undefined;
  const content = body.subarray(PREFIX_BYTES);
  if (isGrpcWebType(type)) {
    if (body[0] !== trailerFlag) return undefined;
    const trailers = trailerParse(content);
    const error = detailed(findTrailerError(trailers));
    return error && { status, headers, body: webTrailers(setTrailerStatus(trailers, error)) };
  }
  if (isConnectStreamType(type)) {
    if (body[0] !== endStreamFlag) return undefined;
    const { metadata, error: own } = endStreamFromJson(content);
    const error = detailed(own);
    const last = JSON.stringify(endStreamToJson(metadata, error, jsonOptions));
    return error && { status, headers, body: encodeEnvelope(endStreamFlag, Buffer.from(last)) };
  }
  if (status < 400 || headers.has("content-encoding")) return undefined;
  const error = detailed(errorFromJsonBytes(body, undefined, new ConnectError("", Code.Unknown)));
  headers.delete("content-length");
  return error && { status, headers, body: errorToJsonBytes(error, jsonOptions) };
}

const webTrailers = (trailers: Headers): Uint8Array => encodeEnvelope(trailerFlag, trailerSerialize(trailers));

/** Reasons by code; INVALID_REQUEST for the others. */
const reasons: Readonly<Partial<Record<Code, Reason>>> = {
  [Code.InvalidArgument]: "INVALID_PARAMS",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.ResourceExhausted]: "REQUEST_TOO_LARGE",
  [Code.Canceled]: "CANCELLED",
  [Code.Unknown]: "INTERNAL",
};

/** Returns an error with ErrorInfo; undefined for none, or one that has details. */
function detailed(error: ConnectError | undefined): ConnectError | undefined {
  // NotFound is the answer of the health service.
  if (error === undefined || error.details.length > 0 || error.code === Code.NotFound) return undefined;
  const { rawMessage, code } = error;
  const made = new ConnectError(rawMessage, code);
  made.details = detailsOf(new A2AError(reasons[code] ?? "INVALID_REQUEST", rawMessage));
  return made;
}
