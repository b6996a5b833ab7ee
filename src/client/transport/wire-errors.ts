import { fromBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { fromBase64 } from "../../core/bytes.js";
import { type A2AError, StatusCode } from "../../core/error.js";
import { percentDecoded } from "../../core/net.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { codeNamed, errorOf, type Facts, reasonOfStatus } from "../errors/error-facts.js";
import { factsIn } from "../errors/errors.js";

/** Maximum number of details examined per error. */
const MAX_DETAILS = 32;

/** Reads details as protobuf packs them, with or without the prefix of an Any before the name of their type. */
function factsOf(details: readonly { readonly type: string; readonly value: Uint8Array }[]): Facts {
  const error = new ConnectError("");
  error.details = details.slice(0, MAX_DETAILS).map(({ type, value }) => {
    return { type: type.slice(type.lastIndexOf("/") + 1), value };
  });
  return factsIn(error);
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
  return errorOf(factsOf(details), message || `The call failed with the status ${code} of gRPC.`, reason, all);
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
  const code = codeNamed(name) ?? StatusCode.UNKNOWN;
  const details = (Array.isArray(json.details) ? json.details : []).flatMap((detail) => {
    if (!isJsonObject(detail) || typeof detail.type !== "string" || typeof detail.value !== "string") return [];
    return [{ type: detail.type, value: base64Bytes(detail.value) }];
  });
  const message =
    typeof json.message === "string" && json.message !== "" ? json.message : `The call failed: ${json.code}.`;
  return errorOf(factsOf(details), message, reasonOfStatus(code), headers);
}

function base64Bytes(base64: string): Uint8Array {
  try {
    return fromBase64(base64);
  } catch {
    return new Uint8Array();
  }
}
