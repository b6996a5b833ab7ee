import type { NodeServerRequest, NodeServerResponse } from "../binding/binding.js";

/** A whole answer that is known at once. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

/** Writes it; HEAD gets the same headers without the body (RFC 9110, 9.3.2). */
export function send(request: NodeServerRequest, response: NodeServerResponse, answer: WholeAnswer): void {
  response.statusCode = answer.status;
  for (const [name, value] of Object.entries(answer.headers)) {
    if (name === "vary") addVary(response, value);
    else response.setHeader(name, value);
  }
  const { body } = answer;
  if (body === undefined || request.method === "HEAD") response.end();
  else response.end(body);
}

/** Adds to the headers that the content depends on, where others have named theirs already. */
export function addVary(response: NodeServerResponse, names: string): void {
  const before = response.getHeader("vary");
  response.setHeader("vary", before === undefined ? names : `${String(before)}, ${names}`);
}

/** A request header by its lower-case name; several values are joined by commas. */
export function headerOf(request: NodeServerRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
