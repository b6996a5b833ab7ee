import type { A2AError } from "../core/error.js";
import type { HttpResponse } from "../http/response.js";
import { noStore, safeHeaders } from "./files.js";

export function json(status: number, value: unknown): HttpResponse {
  return {
    status,
    type: "application/json",
    headers: [...safeHeaders, noStore],
    body: JSON.stringify(value),
  };
}

/** Returns the answer to a refused request, without a challenge, at which a browser would ask for a password. */
export function refused(error: A2AError): HttpResponse {
  const { row, retryAfterMs } = error;
  const retry = retryAfterMs === undefined ? [] : [["retry-after", `${Math.ceil(retryAfterMs / 1_000)}`] as const];
  const answer = json(row.http, { error: error.message });
  const headers = [...safeHeaders, noStore, ...retry];
  return { ...answer, headers };
}

export function notFound(): HttpResponse {
  return json(404, { error: "The console has nothing at this path." });
}

export function wrongMethod(allow: string): HttpResponse {
  const answer = json(405, { error: `Only ${allow} is allowed here.` });
  return { ...answer, headers: [...safeHeaders, noStore, ["allow", allow]] };
}

/** Returns the answer to a request that changed something, or has nothing more to say. */
export function done(...headers: readonly (readonly [string, string])[]): HttpResponse {
  return { status: 204, headers: [...safeHeaders, noStore, ...headers] };
}
