import { create, type Message, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { type BadRequest, BadRequestSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import type { A2AError } from "../../core/error.js";
import type { ErrorCodes } from "../../version/version.js";
import { detailsOf, type ErrorDetail } from "../../wire/error-details.js";
import { headersOf } from "../failure.js";

/** The status of a call. */
export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
  /** Additional trailers. */
  readonly headers?: Iterable<[string, string]>;
  /** A serialized `google.rpc.Status`. */
  readonly details?: Uint8Array;
}

/** Trailer with a serialized `google.rpc.Status`, the usual place of error details (specification 10.6). */
export const DETAILS_TRAILER = "grpc-status-details-bin";

/**
 * Maximum bytes of all details together, and of the encoded message. Several gRPC clients reject a response with more
 * than 8 KiB of headers, and base64 adds a third to the details.
 */
const MAX_DETAIL_BYTES = 4096;
const MAX_MESSAGE_BYTES = 2048;

/**
 * Returns an error as the status of a call: the code of its reason, its message, its details with ErrorInfo first, and
 * its headers as trailers (specification 5.4, 10.6).
 *
 * @param codes codes of another version that differ
 */
export function statusOf(error: A2AError, codes?: ErrorCodes): GrpcStatus {
  const message = fittedMessage(error.message);
  const code = codes?.[error.reason] ?? error.code;
  const status = create(StatusSchema, { code, message, details: fittedDetails(detailsOf(error)) });
  return { code, message, headers: legalOf(headersOf(error)), details: toBinary(StatusSchema, status) };
}

/** Names and values that text metadata allows. Headers of a connection are illegal in HTTP/2 (RFC 9113, 8.2.2). */
const legalName =
  /^(?!(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|http2-settings|te)$)[0-9a-z_.-]+(?<!-bin)$/;
const legalValue = /^[ -~]*$/;

/** Returns the headers that gRPC can carry. Values outside printable ASCII are left out. */
export function legalOf(headers: Iterable<[string, string]>): [string, string][] {
  return [...headers].filter(([name, value]) => legalName.test(name) && legalValue.test(value));
}

/** Returns a status as trailers (PROTOCOL-HTTP2, "Trailers"). */
export function trailersOf({ code, message, headers = [], details }: GrpcStatus): Record<string, string> {
  return {
    ...Object.fromEntries(headers),
    "grpc-status": `${code}`,
    "grpc-message": encodeURI(message),
    ...(details !== undefined && { [DETAILS_TRAILER]: Buffer.from(details).toString("base64") }),
  };
}

function fittedMessage(text: string): string {
  // encodeURI throws for a lone surrogate.
  let message = text.replace(/\p{Surrogate}/gu, "\ufffd");
  while (encodeURI(message).length > MAX_MESSAGE_BYTES) {
    message = `${message.slice(0, message.length / 2).replace(/\p{Surrogate}$/u, "")}…`;
  }
  return message;
}

function fittedDetails(details: readonly ErrorDetail[]): Any[] {
  const packed: Any[] = [];
  let free = MAX_DETAIL_BYTES;
  for (const detail of details) {
    const any = fittedDetail(detail, free);
    if (any === undefined) continue;
    packed.push(any);
    free -= any.value.byteLength;
  }
  return packed;
}

/**
 * Packs a detail into at most `free` bytes. A long list of violations is shortened; any other detail that does not fit
 * is left out.
 */
function fittedDetail({ desc, value }: ErrorDetail, free: number): Any | undefined {
  let message = value;
  let any = anyPack(desc, message);
  while (any.value.byteLength > free && isBadRequest(message) && message.fieldViolations.length > 1) {
    const fieldViolations = message.fieldViolations.slice(0, message.fieldViolations.length / 2);
    message = create(BadRequestSchema, { fieldViolations });
    any = anyPack(desc, message);
  }
  return any.value.byteLength > free ? undefined : any;
}

function isBadRequest(message: Message): message is BadRequest {
  return message.$typeName === BadRequestSchema.typeName;
}
