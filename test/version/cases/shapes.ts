import type { Expectation, Pattern, Request } from "./case.js";

// Common parts of the cases, so that each case shows only its subject.

type Headers = Readonly<Record<string, string>>;
type Id = string | number | null;
type JsonObject = Record<string, Pattern>;

const typed = (headers: Headers = {}): Headers => ({ "Content-Type": "application/json", ...headers });

export const post = (path: string, body: Pattern, { headers }: { headers?: Headers } = {}): Request => ({
  method: "POST",
  path,
  headers: typed(headers),
  body,
});

/** A POST whose body is sent unchanged. */
export const postRaw = (path: string, rawBody: string, { headers }: { headers?: Headers } = {}): Request => ({
  method: "POST",
  path,
  headers: typed(headers),
  rawBody,
});

export const get = (path: string, { headers = {} }: { headers?: Headers } = {}): Request => ({
  method: "GET",
  path,
  headers,
});

export const remove = (path: string): Request => ({ method: "DELETE", path, headers: {} });

/** A request of JSON-RPC. */
export const call = (
  method: string,
  params?: Pattern,
  { id = 1, headers }: { id?: Id; headers?: Headers } = {},
): Request =>
  post(
    "${rpc}",
    { jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) },
    { ...(headers && { headers }) },
  );

/** A call of gRPC. */
export const rpc = (method: string, body: Pattern, { headers = {} }: { headers?: Headers } = {}): Request => ({
  method: "GRPC",
  path: `/a2a.v1.A2AService/${method}`,
  headers,
  body,
});

export const text = (value: string): JsonObject => ({ kind: "text", text: value });

/** A message of 0.3 and 0.2. */
export const said = (value: string): JsonObject => ({
  kind: "message",
  role: "user",
  messageId: "m-1",
  parts: [text(value)],
});

export const text01 = (value: string): JsonObject => ({ type: "text", text: value });

/** A message of 0.1. */
export const said01 = (value: string): JsonObject => ({ role: "user", parts: [text01(value)] });

/** A message as the contract of 0.3 has it: over gRPC and HTTP+JSON. */
export const protoSaid = (value: string): JsonObject => ({
  messageId: "m-1",
  role: "ROLE_USER",
  content: [{ text: value }],
});

export const json: Record<string, Pattern> = { "content-type": { $startsWith: "application/json" } };
export const eventStream: Record<string, Pattern> = { "content-type": { $startsWith: "text/event-stream" } };

/** A result of JSON-RPC. */
export const result = (value: Pattern, id: Id = 1): Expectation => ({
  status: 200,
  headers: json,
  body: { jsonrpc: "2.0", id, result: value, error: "$absent" },
});

/** An error of JSON-RPC. */
export const refused = (
  code: Pattern,
  { id = 1, status = 200 }: { id?: Pattern; status?: Pattern } = {},
): Expectation => ({
  status,
  body: { jsonrpc: "2.0", id, error: { code, message: "$string" }, result: "$absent" },
});

/** A whole stream, which the server ends. */
export const streamed = (events: readonly Pattern[]): Expectation => ({
  status: 200,
  headers: eventStream,
  events,
  closed: true,
});

/** A JSON answer. */
export const answered = (body: Pattern, status: Pattern = 200): Expectation => ({ status, headers: json, body });

/** An answer of gRPC. */
export const ok = (body: Pattern): Expectation => ({ status: "OK", body });

/** A response of JSON-RPC, alone or as an event. */
export const sent = (value: Pattern, id: Id = 1): JsonObject => ({ jsonrpc: "2.0", id, result: value });
export const sentError = (code: Pattern, id: Id = 1): JsonObject => ({ jsonrpc: "2.0", id, error: { code } });

export const anyNumber = (event: Pattern): JsonObject => ({ $zeroOrMore: event });
