import { A2A_DOMAIN, A2AError, type Reason, reasons, StatusCode, type Violation } from "../../core/error.js";
import { isJsonObject } from "../../wire/json-struct.js";

/** Details of an error, from any wire form. */
export interface Facts {
  readonly reason?: string | undefined;
  readonly domain?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly violations?: readonly Violation[] | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** Maximum length of a server's text in an error, in characters. */
const MAX_TEXT = 1_000;

/**
 * Returns the error of an answer: by its known reason, else by the error name that its text begins with
 * (`TaskNotFoundError: …`, as some servers write it), else by its codes. An unknown reason is kept in the metadata.
 */
export function errorOf(facts: Facts, message: string, fallback: Reason, headers?: Headers, cause?: unknown): A2AError {
  const { reason, domain, violations } = facts;
  const known = knownReason(reason);
  const unknown = reason === undefined || known !== undefined ? {} : { reason, ...(domain ? { domain } : {}) };
  const retryAfterMs = facts.retryAfterMs ?? retryAfterOf(headers);
  const options = { metadata: { ...facts.metadata, ...unknown }, violations, retryAfterMs, headers, cause };
  const text = message.length > MAX_TEXT ? `${message.slice(0, MAX_TEXT)}…` : message;
  return new A2AError(known ?? reasonNamedIn(message) ?? fallback, text.replaceAll(CONTROLS, " "), options);
}

/** Terminal control characters, line separators and direction marks. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu;

function knownReason(name: string | undefined): Reason | undefined {
  return name !== undefined && Object.hasOwn(reasons, name) ? (name as Reason) : undefined;
}

/** Maps `TaskNotFoundError` and `task-not-found` to TASK_NOT_FOUND. */
export function reasonNamed(name: string): Reason | undefined {
  const words = name.replace(/Error$/, "").replaceAll(/(?<=[a-z])(?=[A-Z])|-/g, "_");
  return knownReason(words.toUpperCase());
}

function reasonNamedIn(message: string): Reason | undefined {
  const name = /^([A-Za-z]{4,60}Error)\b/.exec(message)?.[1];
  return name === undefined ? undefined : reasonNamed(name);
}

/** Reads details in JSON: a list of objects with `@type`, one such object, or an object with plain members (1.0.0). */
export function factsOf(details: unknown): Facts {
  const list = Array.isArray(details) ? details : [details];
  let facts: Facts = {};
  for (const detail of list.slice(0, MAX_DETAILS)) {
    if (isJsonObject(detail)) facts = { ...factOf(detail), ...facts };
  }
  return facts;
}

/** Maximum number of details examined per error. */
const MAX_DETAILS = 32;

function factOf(detail: Readonly<Record<string, unknown>>): Facts {
  const type = typeof detail["@type"] === "string" ? detail["@type"] : "";
  if (type.endsWith("BadRequest")) return { violations: violationsOf(detail) };
  if (type.endsWith("RetryInfo")) return retryOf(detail.retryDelay ?? detail.retry_delay);
  if (type.endsWith("ErrorInfo") || typeof detail.reason === "string") return infoOf(detail);
  // The meaning of members of other types is unknown.
  return type === "" ? { metadata: textsOf(detail) } : {};
}

function infoOf({ reason, domain, metadata }: Readonly<Record<string, unknown>>): Facts {
  return {
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof domain === "string" ? { domain } : {}),
    ...(isJsonObject(metadata) ? { metadata: textsOf(metadata) } : {}),
  };
}

function textsOf(members: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(members)) {
    const isShort = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    if (isShort && name !== "@type" && name !== "__proto__") texts[name] = `${value}`.slice(0, MAX_TEXT);
  }
  return texts;
}

function violationsOf(detail: Readonly<Record<string, unknown>>): Violation[] {
  const given = detail.fieldViolations ?? detail.field_violations;
  return (Array.isArray(given) ? given : []).filter(isJsonObject).map(({ field, description }) => ({
    field: typeof field === "string" ? field : "",
    description: typeof description === "string" ? description : "",
  }));
}

/** Reads a duration in JSON form, `1.5s`, or as the members of the message. */
export function retryOf(delay: unknown): Facts {
  const seconds = typeof delay === "string" ? /^(\d{1,12}(?:\.\d{1,9})?)s$/.exec(delay)?.[1] : undefined;
  if (seconds !== undefined) return { retryAfterMs: Number(seconds) * 1000 };
  if (!isJsonObject(delay)) return {};
  const ms = Number(delay.seconds ?? 0) * 1000 + Number(delay.nanos ?? 0) / 1_000_000;
  return Number.isFinite(ms) && ms >= 0 ? { retryAfterMs: ms } : {};
}

/** Returns `Retry-After` (RFC 9110, 10.2.3) in milliseconds from now: seconds, or a date that begins with its day. */
export function retryAfterOf(headers: Headers | undefined): number | undefined {
  const text = headers?.get("retry-after") ?? "";
  const seconds = deltaSeconds(text);
  if (seconds !== undefined) return seconds * 1000;
  const ms = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) - Date.now() : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const byRpcCode = new Map<unknown, Reason>([[-32603, "INTERNAL"]]);
for (const [reason, { jsonrpc, domain }] of Object.entries(reasons) as [Reason, (typeof reasons)[Reason]][]) {
  // -32000 is a generic error.
  if (domain === A2A_DOMAIN && jsonrpc !== -32000) byRpcCode.set(jsonrpc, reason);
}

/** Returns the reason of a JSON-RPC code, in any release of the specification. */
export function reasonOfRpcCode(code: unknown): Reason | undefined {
  return byRpcCode.get(code);
}

/** Reasons by code of `google.rpc.Code`, used without further details. */
const byStatus: readonly Reason[] = [
  "INTERNAL", // OK, which is not an error
  "CANCELLED",
  "INTERNAL", // UNKNOWN
  "INVALID_PARAMS", // INVALID_ARGUMENT
  "DEADLINE_EXCEEDED",
  "TASK_NOT_FOUND", // NOT_FOUND
  "INVALID_REQUEST", // ALREADY_EXISTS
  "PERMISSION_DENIED",
  "TOO_MANY_REQUESTS", // RESOURCE_EXHAUSTED
  "UNSUPPORTED_OPERATION", // FAILED_PRECONDITION
  "UNAVAILABLE", // ABORTED: something else came between; trying again makes sense
  "INVALID_PARAMS", // OUT_OF_RANGE
  "METHOD_NOT_FOUND", // UNIMPLEMENTED
  "INTERNAL",
  "UNAVAILABLE",
  "INTERNAL", // DATA_LOSS
  "UNAUTHENTICATED",
];

/** Returns the code of `google.rpc.Code` with a name. */
export function codeNamed(name: string): number | undefined {
  return Object.hasOwn(StatusCode, name) ? StatusCode[name as keyof typeof StatusCode] : undefined;
}

/** Returns the reason of a gRPC or Connect code. */
export function reasonOfStatus(code: number): Reason {
  return byStatus[code] ?? "INTERNAL";
}

/** HTTP statuses that are more specific than the code beside them, those of release 1.0.0 included. */
const structured = new Map<number, Reason>([
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "TASK_NOT_FOUND"],
  [405, "METHOD_NOT_ALLOWED"],
  [409, "TASK_NOT_CANCELABLE"],
  [413, "REQUEST_TOO_LARGE"],
  [415, "CONTENT_TYPE_NOT_SUPPORTED"],
  [429, "TOO_MANY_REQUESTS"],
  [499, "CANCELLED"],
  [501, "METHOD_NOT_FOUND"],
  [502, "INVALID_AGENT_RESPONSE"],
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"],
]);

/** Returns the reason of an HTTP status whose body is a protocol error. */
export function reasonOfStructured(http: number): Reason | undefined {
  return structured.get(http);
}

/** Reasons of HTTP statuses with any other body, such as a proxy's. */
const plain = new Map<number, Reason>([
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "METHOD_NOT_FOUND"],
  [405, "METHOD_NOT_ALLOWED"],
  [406, "MEDIA_TYPE_NOT_SUPPORTED"],
  [408, "UNAVAILABLE"],
  [410, "METHOD_NOT_FOUND"],
  [413, "REQUEST_TOO_LARGE"],
  [414, "REQUEST_TOO_LARGE"],
  [415, "MEDIA_TYPE_NOT_SUPPORTED"],
  [421, "HOST_NOT_ALLOWED"],
  [425, "TOO_MANY_REQUESTS"],
  [429, "TOO_MANY_REQUESTS"],
  [431, "REQUEST_TOO_LARGE"],
  [499, "CANCELLED"],
  [500, "INTERNAL"],
  [501, "METHOD_NOT_FOUND"],
  [502, "UNAVAILABLE"],
  [503, "UNAVAILABLE"],
  [504, "UNAVAILABLE"],
]);

/** Returns the reason of an HTTP status without further details. */
export function reasonOfHttp(http: number): Reason {
  const known = plain.get(http);
  if (known !== undefined) return known;
  if (http >= 400 && http < 500) return "INVALID_REQUEST";
  // Content delivery networks answer 520 to 599 for an unreachable origin.
  if (http >= 500) return http >= 520 ? "UNAVAILABLE" : "INTERNAL";
  return "INVALID_AGENT_RESPONSE";
}

/** Maximum seconds accepted from a header (RFC 9111, 1.2.2). */
const MOST = 2 ** 31;

/** Parses the seconds of a header such as `Retry-After`; undefined if it is not a number. */
export function deltaSeconds(text: string | null | undefined): number | undefined {
  return /^\d+$/.test(text ?? "") ? Math.min(MOST, Number(text)) : undefined;
}
