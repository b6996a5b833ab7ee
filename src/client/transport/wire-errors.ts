import { fromBinary } from "@bufbuild/protobuf";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { fromBase64 } from "../../core/bytes.js";
import { type A2AError, StatusCode } from "../../core/error.js";
import { percentDecoded } from "../../core/net.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { errorOf, type Facts, reasonOfStatus, retryAfter } from "../errors/error-facts.js";

/** A detail of an error as protobuf packs it. */
interface PackedDetail {
  /** Name of its type, with or without the prefix of an Any. */
  readonly type: string;
  readonly value: Uint8Array;
}

/** Maximum number of details examined per error. */
const MAX_DETAILS = 32;

/** Reads details. Unreadable ones are skipped. */
function factsIn(details: Iterable<PackedDetail>): Facts {
  let facts: Facts = {};
  let count = 0;
  for (const detail of details) {
    if (++count > MAX_DETAILS) break;
    try {
      facts = { ...factIn(detail), ...facts };
    } catch {
      // Its value does not match its type.
    }
  }
  return facts;
}

function factIn({ type, value }: PackedDetail): Facts {
  const name = type.slice(type.lastIndexOf("/") + 1);
  if (name === ErrorInfoSchema.typeName) {
    const { reason, domain, metadata } = fromBinary(ErrorInfoSchema, value);
    return { reason, domain, metadata };
  }
  if (name === BadRequestSchema.typeName) return { violations: fromBinary(BadRequestSchema, value).fieldViolations };
  if (name !== RetryInfoSchema.typeName) return {};
  return { retryAfterMs: retryAfter(fromBinary(RetryInfoSchema, value).retryDelay) };
}

/**
 * Returns the error in gRPC trailers (`grpc-status`, `grpc-message`, `grpc-status-details-bin`); undefined for OK or no
 * status.
 */
export function errorInTrailers(trailers: Headers, headers: Headers): A2AError | undefined {
  const grpcStatus = trailers.get("grpc-status") ?? "0";
  // A status that is not a number is UNKNOWN, also an empty one.
  const code = /^\d+$/.test(grpcStatus) ? Number(grpcStatus) : StatusCode.UNKNOWN;
  if (code === 0) return undefined;
  const packed = trailers.get("grpc-status-details-bin");
  const status = packed === null ? undefined : statusIn(packed);
  const details = (status?.details ?? []).map(({ typeUrl, value }) => ({ type: typeUrl, value }));
  const message = status?.message || percentDecoded(trailers.get("grpc-message") ?? "");
  const all = new Headers(headers);
  for (const [name, value] of trailers) all.set(name, value);
  const reason = reasonOfStatus(code);
  return errorOf(factsIn(details), message || `The call failed with the status ${code} of gRPC.`, reason, all);
}

function statusIn(packed: string): ReturnType<typeof fromBinary<typeof StatusSchema>> | undefined {
  try {
    return fromBinary(StatusSchema, fromBase64(packed));
  } catch {
    return undefined;
  }
}

/** Reads the error object of Connect (`code`, `message`, `details`); undefined if it is not one. */
export function errorInConnect(json: unknown, headers: Headers): A2AError | undefined {
  if (!isJsonObject(json) || typeof json.code !== "string") return undefined;
  const name = json.code === "canceled" ? "CANCELLED" : json.code.toUpperCase();
  const code = Object.hasOwn(StatusCode, name) ? StatusCode[name as keyof typeof StatusCode] : StatusCode.UNKNOWN;
  const details = (Array.isArray(json.details) ? json.details : []).flatMap((detail) => {
    if (!isJsonObject(detail) || typeof detail.type !== "string" || typeof detail.value !== "string") return [];
    return [{ type: detail.type, value: base64Bytes(detail.value) }];
  });
  const message =
    typeof json.message === "string" && json.message !== "" ? json.message : `The call failed: ${json.code}.`;
  return errorOf(factsIn(details), message, reasonOfStatus(code), headers);
}

function base64Bytes(base64: string): Uint8Array {
  try {
    return fromBase64(base64);
  } catch {
    return new Uint8Array();
  }
}
