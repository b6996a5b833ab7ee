import type { BindingName } from "../support/driver.js";

/** The codes of an error on each wire. */
export interface ErrorRow {
  /** Name of the gRPC status. */
  readonly status: string;
  readonly http: number;
  readonly jsonrpc: number;
  readonly domain: string;
}

const a2a = (status: string, http: number, jsonrpc: number): ErrorRow => ({
  status,
  http,
  jsonrpc,
  domain: "a2a-protocol.org",
});

const own = (status: string, http: number, jsonrpc: number): ErrorRow => ({
  status,
  http,
  jsonrpc,
  domain: "urn:parley",
});

/**
 * The codes of every error on every wire. The table repeats that of the sources, so that a change there fails the
 * tests. The nine errors of the specification (5.4, 9.5, 10.6, 11.6) come first, then those of its error categories
 * (3.3.2). Some of the latter have names and a domain that published clients know.
 */
export const errors = {
  TASK_NOT_FOUND: a2a("NOT_FOUND", 404, -32001),
  TASK_NOT_CANCELABLE: a2a("FAILED_PRECONDITION", 400, -32002),
  PUSH_NOTIFICATION_NOT_SUPPORTED: a2a("FAILED_PRECONDITION", 400, -32003),
  UNSUPPORTED_OPERATION: a2a("FAILED_PRECONDITION", 400, -32004),
  CONTENT_TYPE_NOT_SUPPORTED: a2a("INVALID_ARGUMENT", 400, -32005),
  INVALID_AGENT_RESPONSE: a2a("INTERNAL", 500, -32006),
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: a2a("FAILED_PRECONDITION", 400, -32007),
  EXTENSION_SUPPORT_REQUIRED: a2a("FAILED_PRECONDITION", 400, -32008),
  VERSION_NOT_SUPPORTED: a2a("FAILED_PRECONDITION", 400, -32009),
  INVALID_PARAMS: a2a("INVALID_ARGUMENT", 400, -32602),
  UNAUTHENTICATED: a2a("UNAUTHENTICATED", 401, -32000),
  PERMISSION_DENIED: own("PERMISSION_DENIED", 403, -32000),
  REQUEST_TOO_LARGE: own("RESOURCE_EXHAUSTED", 413, -32600),
  TOO_MANY_REQUESTS: own("RESOURCE_EXHAUSTED", 429, -32000),
  IDEMPOTENCY_KEY_REUSED: own("ALREADY_EXISTS", 409, -32000),
  GENERATION_MISMATCH: own("ABORTED", 409, -32000),
  DEADLINE_EXCEEDED: own("DEADLINE_EXCEEDED", 504, -32603),
  INTERNAL: own("INTERNAL", 500, -32603),
} as const satisfies Record<string, ErrorRow>;

/** Name of an error in its ErrorInfo. */
export type ErrorName = keyof typeof errors;

/** Numbers of the gRPC statuses (google.rpc.Code). */
const statusNumbers: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  INTERNAL: 13,
  UNAUTHENTICATED: 16,
};

/** The code of an error on a binding. */
export function nativeCode(error: ErrorName, binding: BindingName): number {
  const row = errors[error];
  if (binding === "jsonrpc") return row.jsonrpc;
  return binding === "rest" ? row.http : (statusNumbers[row.status] ?? -1);
}
