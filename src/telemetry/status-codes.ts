import { type A2AError, StatusCode, statusNameOf } from "../core/error.js";
import { rpcSystems } from "./names.js";

/** Errors that the RPC conventions count as the server's own. Others are answers that a server is right to give. */
const faults: ReadonlySet<number> = new Set([
  StatusCode.UNKNOWN,
  StatusCode.DEADLINE_EXCEEDED,
  StatusCode.UNIMPLEMENTED,
  StatusCode.INTERNAL,
  StatusCode.UNAVAILABLE,
  StatusCode.DATA_LOSS,
]);

/** Tells whether an error is the server's own. @param code of `google.rpc.Code` */
export function isFault(code: number): boolean {
  return faults.has(code);
}

/** Returns the code of an error as a binding sends it. */
export function wireCode({ code, http, jsonrpc }: A2AError["row"], binding: string): string {
  if (binding === "jsonrpc") return String(jsonrpc);
  if (binding === "rest") return String(http);
  const name = statusNameOf(code);
  return binding === "connect" ? name.toLowerCase() : name;
}

/** Returns the code of success as a binding sends it; undefined for bindings that send none. */
export function successCode(binding: string): string | undefined {
  return rpcSystems[binding] === "grpc" ? "OK" : undefined;
}
