import { type A2AError, StatusCode, type StatusName } from "../core/error.js";
import { errorDetails } from "./error-details.js";

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
