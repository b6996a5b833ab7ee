import { Code } from "@connectrpc/connect";
import type { A2AError } from "../core/error.js";
import { errorDetails } from "./error-details.js";

/** The gRPC name of a status code: `NOT_FOUND`. */
export function statusName(code: Code): string {
  // Connect writes it with one L.
  if (code === Code.Canceled) return "CANCELLED";
  return Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

/** The name that goes with a status of HTTP: a path that is not served is not found, as its status says. */
function restStatusName({ row, code }: A2AError): string {
  return row.http === 404 ? "NOT_FOUND" : statusName(code);
}

/** An error as the body of a REST answer: `google.rpc.Status` in JSON under `error`, with the HTTP status (11.6). */
export function restError(error: A2AError): string {
  const { row, rawMessage } = error;
  return JSON.stringify({
    error: { code: row.http, status: restStatusName(error), message: rawMessage, details: errorDetails(error) },
  });
}
