import { createRegistry, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.js";

/** An error as a client finds it on the wire, in the same form for all bindings. */
export interface WireError {
  /** The binding's own code: status of HTTP, code of JSON-RPC, number of gRPC and Connect. */
  readonly native: number;
  /** Name of the gRPC status such as `NOT_FOUND`; undefined where the binding does not carry one. */
  readonly status: string | undefined;
  readonly message: string;
  /** ProtoJSON of each detail, with its `@type`. */
  readonly details: readonly JsonObject[];
  /** From the ErrorInfo among the details. */
  readonly reason: string | undefined;
  readonly domain: string | undefined;
}

/** A call that was answered with an error. */
export class WireFailure extends Error {
  override name = "WireFailure";
  readonly error: WireError;
  readonly headers: Readonly<Record<string, string>>;

  constructor(error: Omit<WireError, "reason" | "domain">, headers: Readonly<Record<string, string>>) {
    super(`${error.status ?? error.native}: ${error.message}`);
    const info = error.details.find((detail) => detail["@type"] === "type.googleapis.com/google.rpc.ErrorInfo");
    this.error = { ...error, reason: text(info?.reason), domain: text(info?.domain) };
    this.headers = headers;
  }
}

/** Types of details: the error details of google.rpc. */
const registry: ReturnType<typeof createRegistry> = createRegistry(file_google_rpc_error_details);

/** A packed detail as ProtoJSON. Throws when its type is not one of google.rpc. */
export function detailOf(any: Any): JsonObject {
  return toJson(AnySchema, any, { registry }) as JsonObject;
}

/** A detail that came as ProtoJSON, read strictly and written again, so that all bindings compare equal. */
export function detailOfJson(json: JsonValue): JsonObject {
  return detailOf(fromJson(AnySchema, json, { registry }));
}

/** Name of a gRPC status by its number, as `google.rpc.Code` writes it. */
export function statusName(number: number): string {
  if (number === 1) return "CANCELLED";
  return (Code[number] ?? `${number}`).replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
