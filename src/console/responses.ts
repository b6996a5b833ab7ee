import type { A2AError } from "../core/error.js";
import type { HttpResponse } from "../http/response.js";
import { noStore, safeHeaders } from "./files.js";

type Header = readonly [name: string, value: string];

export function json(status: number, value: unknown, ...more: readonly Header[]): HttpResponse {
  return { status, type: "application/json", headers: [...safeHeaders, noStore, ...more], body: JSON.stringify(value) };
}

/** Returns the answer to a refused request, without a challenge, at which a browser would ask for a password. */
export function rejectionResponse(error: A2AError): HttpResponse {
  const { row, retryAfterMs } = error;
  const retry = retryAfterMs === undefined ? [] : [["retry-after", `${Math.ceil(retryAfterMs / 1_000)}`] as const];
  return json(row.http, { error: error.message }, ...retry);
}

export function notFound(): HttpResponse {
  return json(404, { error: "The console has nothing at this path." });
}

export function wrongMethod(allow: string): HttpResponse {
  return json(405, { error: `Only ${allow} is allowed here.` }, ["allow", allow]);
}

/** Returns the answer to a request that changed something, or has nothing more to say. */
export function done(...headers: readonly Header[]): HttpResponse {
  return { status: 204, headers: [...safeHeaders, noStore, ...headers] };
}
