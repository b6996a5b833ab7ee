import { Code } from "@connectrpc/connect";
import type { A2AError } from "../core/error.js";
import { errorDetails } from "./error-details.js";

/** The gRPC name of a status code: `NOT_FOUND`. */
export function statusName(code: Code): string {
  // Connect writes it with one L.
  if (code === Code.Canceled) return "CANCELLED";
  return Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

/** An error as the body of a REST answer: `google.rpc.Status` in JSON under `error`, with the HTTP status (11.6). */
export function restError(error: A2AError): string {
  const { row, code, rawMessage } = error;
  return JSON.stringify({
    error: { code: row.http, status: statusName(code), message: rawMessage, details: errorDetails(error) },
  });
}
