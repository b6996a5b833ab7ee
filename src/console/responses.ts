import { A2AError } from "../core/error.js";
import { membersOf } from "../core/members.js";
import type { HttpResponse } from "../http/response.js";
import { parsedJson } from "../wire/parsed-json.js";
import { noStore, safeHeaders } from "./files.js";

/** Largest body of a request by the page itself, in bytes. */
export const MAX_REQUEST_BYTES = 4_096;

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

/** Returns a text by its name from the JSON in a body. @throws A2AError */
export function textIn(body: Buffer, name: string): string {
  const text = membersOf(parsedJson(body.toString("utf8")))[name];
  if (typeof text === "string") return text;
  throw new A2AError("INVALID_REQUEST", `The body is not a JSON object with a ${name}.`);
}
