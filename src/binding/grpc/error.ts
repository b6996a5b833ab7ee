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
  /** Trailers beside it. */
  readonly headers?: Iterable<[string, string]>;
  /** A serialized `google.rpc.Status`. */
  readonly details?: Uint8Array;
}

/** Trailer that carries a serialized `google.rpc.Status`, the usual place of error details (specification 10.6). */
export const DETAILS_TRAILER = "grpc-status-details-bin";

/**
 * Bytes of all details together, and of the message as it travels. Several gRPC clients refuse a response with more
 * than 8 KiB of headers, whatever the error was; base64 adds a third to the details.
 */
const MAX_DETAIL_BYTES = 4096;
const MAX_MESSAGE_BYTES = 2048;

/**
 * An error as the status of a call: the code of its reason, its text, its details with ErrorInfo first, and its
 * headers as trailers (specification 5.4, 10.6).
 *
 * @param codes those of another version, where they differ
 */
export function statusOf(error: A2AError, codes?: ErrorCodes): GrpcStatus {
  const message = fittedMessage(error.message);
  const code = codes?.[error.reason] ?? error.code;
  const status = create(StatusSchema, { code, message, details: fittedDetails(detailsOf(error)) });
  return { code, message, headers: legalOf(headersOf(error)), details: toBinary(StatusSchema, status) };
}

/** What may travel as text in metadata. Headers of a connection are illegal in HTTP/2 (RFC 9113, 8.2.2). */
const legalName =
  /^(?!(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|http2-settings|te)$)[0-9a-z_.-]+(?<!-bin)$/;
const legalValue = /^[ -~]*$/;

/** Headers that gRPC can carry: values that are not printable ASCII are left out. */
export function legalOf(headers: Iterable<[string, string]>): [string, string][] {
  return [...headers].filter(([name, value]) => legalName.test(name) && legalValue.test(value));
}

/** A status as trailers (PROTOCOL-HTTP2, "Trailers"). */
export function trailersOf({ code, message, headers = [], details }: GrpcStatus): Record<string, string> {
  return {
    ...Object.fromEntries(headers),
    "grpc-status": `${code}`,
    "grpc-message": encodeURI(message),
    ...(details !== undefined && { [DETAILS_TRAILER]: Buffer.from(details).toString("base64") }),
  };
}

function fittedMessage(text: string): string {
  // Half a surrogate pair cannot be percent-encoded, which encodeURI throws at.
  let message = text.replace(/\p{Surrogate}/gu, "\ufffd");
  while (encodeURI(message).length > MAX_MESSAGE_BYTES) {
    message = `${message.slice(0, message.length / 2).replace(/\p{Surrogate}$/u, "")}…`;
  }
  return message;
}

function fittedDetails(details: readonly ErrorDetail[]): Any[] {
  const packed: Any[] = [];
  let room = MAX_DETAIL_BYTES;
  for (const detail of details) {
    const any = fittedDetail(detail, room);
    if (any === undefined) continue;
    packed.push(any);
    room -= any.value.byteLength;
  }
  return packed;
}

/** A detail in at most `room` bytes: a long list of violations is cut, anything else that does not fit is left out. */
function fittedDetail({ desc, value }: ErrorDetail, room: number): Any | undefined {
  let message = value;
  let any = anyPack(desc, message);
  while (any.value.byteLength > room && isBadRequest(message) && message.fieldViolations.length > 1) {
    const fieldViolations = message.fieldViolations.slice(0, message.fieldViolations.length / 2);
    message = create(BadRequestSchema, { fieldViolations });
    any = anyPack(desc, message);
  }
  return any.value.byteLength > room ? undefined : any;
}

function isBadRequest(message: Message): message is BadRequest {
  return message.$typeName === BadRequestSchema.typeName;
}
