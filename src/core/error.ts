import type { FixedLimit, Limits } from "./limits.js";
import { membersOf } from "./members.js";
import { dropTransportHeaders } from "./net.js";

/** Codes of `google.rpc.Code`, which gRPC and Connect share. */
export const StatusCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** Name of a code of `google.rpc.Code`. */
export type StatusName = keyof typeof StatusCode;

const statusNames = new Map<number, StatusName>(
  Object.entries(StatusCode).map(([name, code]) => [code, name as StatusName]),
);

/** Returns the name of a code of `google.rpc.Code`; UNKNOWN for other numbers. */
export function statusNameOf(code: number): StatusName {
  return statusNames.get(code) ?? "UNKNOWN";
}

/** One code of `google.rpc.Code`. */
export type StatusCode = (typeof StatusCode)[StatusName];

/** Codes of one reason on every wire. */
interface ReasonRow {
  /** Status of gRPC and Connect; REST repeats its name in `error.status`. */
  readonly code: StatusCode;
  /** HTTP status of REST. */
  readonly http: number;
  /** `error.code` of JSON-RPC. For errors other than the nine A2A errors, -32000 means "see the ErrorInfo". */
  readonly jsonrpc: number;
  /** ErrorInfo domain. */
  readonly domain: string;
}

/**
 * ErrorInfo domain of the nine errors that the specification names (sections 9.5, 10.6, 11.6), and of errors that
 * published clients look up under this domain although the specification does not list them.
 */
export const A2A_DOMAIN = "a2a-protocol.org";

/** ErrorInfo domain of the errors that Parley adds: limits, preconditions, availability. */
const PARLEY_DOMAIN = "urn:parley";

const rowsOf =
  (domain: string) =>
  (code: StatusCode, http: number, jsonrpc: number): ReasonRow => ({ code, http, jsonrpc, domain });
const a2a = rowsOf(A2A_DOMAIN);
const own = rowsOf(PARLEY_DOMAIN);

/** Name of an error, as ErrorInfo contains it. */
export type Reason =
  | "TASK_NOT_FOUND"
  | "TASK_NOT_CANCELABLE"
  | "PUSH_NOTIFICATION_NOT_SUPPORTED"
  | "UNSUPPORTED_OPERATION"
  | "CONTENT_TYPE_NOT_SUPPORTED"
  | "INVALID_AGENT_RESPONSE"
  | "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
  | "EXTENSION_SUPPORT_REQUIRED"
  | "VERSION_NOT_SUPPORTED"
  | "INVALID_PARAMS"
  | "INVALID_REQUEST"
  | "PARSE_ERROR"
  | "UNAUTHENTICATED"
  | "PERMISSION_DENIED"
  | "HOST_NOT_ALLOWED"
  | "METHOD_NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "MEDIA_TYPE_NOT_SUPPORTED"
  | "REQUEST_TOO_LARGE"
  | "TASK_TOO_LARGE"
  | "TASK_DAMAGED"
  | "TOO_MANY_REQUESTS"
  | "ALREADY_EXISTS"
  | "IDEMPOTENCY_KEY_REUSED"
  | "GENERATION_MISMATCH"
  | "TASK_GENERATION_MISMATCH"
  | "CANCELLED"
  | "DEADLINE_EXCEEDED"
  | "UNAVAILABLE"
  | "INTERNAL";

/**
 * Maps each reason of an error to the codes of every binding. The first nine rows are section 5.4 of the specification.
 * The others are from sections 9.5 (codes of JSON-RPC) and 3.3.2 (error categories), or Parley's own. INVALID_REQUEST
 * and PARSE_ERROR also describe the JSON-RPC envelope.
 */
export const reasons: Readonly<Record<Reason, ReasonRow>> = {
  TASK_NOT_FOUND: a2a(StatusCode.NOT_FOUND, 404, -32001),
  TASK_NOT_CANCELABLE: a2a(StatusCode.FAILED_PRECONDITION, 400, -32002),
  PUSH_NOTIFICATION_NOT_SUPPORTED: a2a(StatusCode.FAILED_PRECONDITION, 400, -32003),
  UNSUPPORTED_OPERATION: a2a(StatusCode.FAILED_PRECONDITION, 400, -32004),
  CONTENT_TYPE_NOT_SUPPORTED: a2a(StatusCode.INVALID_ARGUMENT, 400, -32005),
  INVALID_AGENT_RESPONSE: a2a(StatusCode.INTERNAL, 500, -32006),
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: a2a(StatusCode.FAILED_PRECONDITION, 400, -32007),
  EXTENSION_SUPPORT_REQUIRED: a2a(StatusCode.FAILED_PRECONDITION, 400, -32008),
  VERSION_NOT_SUPPORTED: a2a(StatusCode.FAILED_PRECONDITION, 400, -32009),
  INVALID_PARAMS: a2a(StatusCode.INVALID_ARGUMENT, 400, -32602),
  INVALID_REQUEST: a2a(StatusCode.INVALID_ARGUMENT, 400, -32600),
  PARSE_ERROR: a2a(StatusCode.INVALID_ARGUMENT, 400, -32700),
  UNAUTHENTICATED: a2a(StatusCode.UNAUTHENTICATED, 401, -32000),
  PERMISSION_DENIED: own(StatusCode.PERMISSION_DENIED, 403, -32000),
  HOST_NOT_ALLOWED: own(StatusCode.PERMISSION_DENIED, 421, -32000),
  METHOD_NOT_FOUND: a2a(StatusCode.UNIMPLEMENTED, 404, -32601),
  METHOD_NOT_ALLOWED: own(StatusCode.UNIMPLEMENTED, 405, -32601),
  MEDIA_TYPE_NOT_SUPPORTED: own(StatusCode.INVALID_ARGUMENT, 415, -32005),
  REQUEST_TOO_LARGE: own(StatusCode.RESOURCE_EXHAUSTED, 413, -32600),
  TASK_TOO_LARGE: own(StatusCode.RESOURCE_EXHAUSTED, 413, -32000),
  TASK_DAMAGED: own(StatusCode.DATA_LOSS, 500, -32603),
  TOO_MANY_REQUESTS: own(StatusCode.RESOURCE_EXHAUSTED, 429, -32000),
  ALREADY_EXISTS: own(StatusCode.ALREADY_EXISTS, 409, -32000),
  IDEMPOTENCY_KEY_REUSED: own(StatusCode.ALREADY_EXISTS, 409, -32000),
  GENERATION_MISMATCH: own(StatusCode.ABORTED, 409, -32000),
  // The name and code that the draft of 1.1 gives GENERATION_MISMATCH.
  TASK_GENERATION_MISMATCH: a2a(StatusCode.ABORTED, 409, -32010),
  CANCELLED: own(StatusCode.CANCELLED, 499, -32000),
  DEADLINE_EXCEEDED: own(StatusCode.DEADLINE_EXCEEDED, 504, -32603),
  UNAVAILABLE: own(StatusCode.UNAVAILABLE, 503, -32603),
  INTERNAL: own(StatusCode.INTERNAL, 500, -32603),
};

/** A violation in a request: a path such as `message.parts[0].text` and a description. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** Optional details of an error. */
export interface A2AErrorOptions {
  /** Facts for the client, strings only. Never secrets, and never the existence of another owner's resource. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Every violation of a validation error, as `google.rpc.BadRequest`. */
  readonly violations?: readonly Violation[] | undefined;
  /** Suggested delay before a retry, in milliseconds, sent as `google.rpc.RetryInfo`. */
  readonly retryAfterMs?: number | undefined;
  /** Headers of the response, such as `WWW-Authenticate`. */
  readonly headers?: Headers | Readonly<Record<string, string>> | undefined;
  /** The real cause, for the log alone: it never leaves the process. */
  readonly cause?: unknown;
}

/** Maximum of a `google.protobuf.Duration`, about 10,000 years, in milliseconds. */
const MAX_RETRY_MS = 315_576_000_000_000;

/** Authors without a type checker may pass any value, and protobuf rejects lone surrogates. */
function asText(value: unknown): string {
  return String(value).toWellFormed();
}

/**
 * The same symbol in every copy of this package. An agent may have its own copy beside that of the command that serves
 * it.
 */
const brand: unique symbol = Symbol.for("parley-a2a/A2AError");

/**
 * The error of every operation of the protocol. Every binding writes it in its own format, with `google.rpc.ErrorInfo`
 * (reason and domain), and with `BadRequest` if it has violations. Specification: sections 3.3.2, 5.4, 9.5, 10.6, 11.6.
 */
export class A2AError extends Error {
  readonly reason: Reason;
  /** Facts for the client. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  /** In milliseconds; undefined also if the given value is not a valid duration. */
  readonly retryAfterMs: number | undefined;
  readonly headers: Headers;
  readonly #madeHere = true;

  static {
    Object.defineProperty(A2AError.prototype, brand, { value: true });
    // Bundlers rename a class that refers to itself, and Node.js prints that name before the message.
    Object.defineProperty(A2AError, "name", { value: "A2AError" });
  }

  /** @throws TypeError for an unknown reason, and for headers that HTTP does not allow */
  constructor(reason: Reason, message: string, options: A2AErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    if (!Object.hasOwn(reasons, reason)) throw new TypeError(`${String(reason)} is not a reason of A2AError`);
    const { metadata = {}, violations = [], retryAfterMs = -1 } = options;
    this.reason = reason;
    this.metadata = Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, asText(value)]));
    this.violations = violations.map((each) => ({
      field: asText(each.field),
      description: asText(each.description),
    }));
    this.retryAfterMs = retryAfterMs >= 0 && retryAfterMs <= MAX_RETRY_MS ? retryAfterMs : undefined;
    this.headers = new Headers(options.headers);
    if (options.headers !== undefined) dropTransportHeaders(this.headers);
  }

  override get name(): string {
    return "A2AError";
  }

  /**
   * Makes `instanceof A2AError` true for errors of this copy of the package and of others. Only `toA2AError`
   * distinguishes the copies. Never throws.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a subclass has instances of its own.
    if (this !== A2AError) return Function.prototype[Symbol.hasInstance].call(this, value);
    if (typeof value !== "object" || value === null) return false;
    try {
      return #madeHere in value || (value as { [brand]?: unknown })[brand] === true;
    } catch {
      return false;
    }
  }

  /** Returns true if this copy of the class created the value. */
  static isOwn(value: unknown): value is A2AError {
    return typeof value === "object" && value !== null && #madeHere in value;
  }

  /** This reason's row of the table. */
  get row(): ReasonRow {
    return reasons[this.reason];
  }

  /** Status of gRPC and Connect. */
  get code(): StatusCode {
    return this.row.code;
  }
}

/** The validation error of every binding: all violations at once (specification 3.3.2, 9.5). */
export function invalid(violations: readonly Violation[]): A2AError {
  return new A2AError("INVALID_PARAMS", `Invalid parameters: ${violations.map(violationText).join("; ")}`, {
    violations,
  });
}

/** Returns a violation as a text. */
export function violationText({ field, description }: Violation): string {
  return field === "" ? description : `${field}: ${description}`;
}

/**
 * The error for a task that does not exist or belongs to another owner. Every operation uses the same message, so that
 * clients cannot distinguish the two (specification 3.3.2).
 */
export function taskNotFound(taskId: string): A2AError {
  return new A2AError("TASK_NOT_FOUND", "Task not found: it does not exist or is not accessible.", {
    metadata: { taskId },
  });
}

const reasonOfCode = new Map<number, Reason>([
  [StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS"],
  [StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"],
  [StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED"],
  [StatusCode.UNIMPLEMENTED, "METHOD_NOT_FOUND"],
  [StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_REQUESTS"],
  [StatusCode.ALREADY_EXISTS, "IDEMPOTENCY_KEY_REUSED"],
  [StatusCode.ABORTED, "GENERATION_MISMATCH"],
  [StatusCode.CANCELLED, "CANCELLED"],
  [StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"],
  [StatusCode.UNAVAILABLE, "UNAVAILABLE"],
]);

/**
 * Converts any thrown value to an error that may leave the process. An A2AError stays as it is, that of another copy of
 * this package becomes one of this copy, and a library's ConnectError keeps its code. Everything else becomes "Internal
 * error." with the thrown value as `cause`. Never throws.
 */
export function toA2AError(thrown: unknown): A2AError {
  if (A2AError.isOwn(thrown)) return thrown;
  try {
    const known = thrown instanceof A2AError ? adopted(thrown) : translated(thrown);
    if (known !== undefined) return known;
  } catch {
    // Reading the value throws, so it is neither of these errors.
  }
  return new A2AError("INTERNAL", "Internal error.", { cause: thrown });
}

/** Converts an error of another copy, which may have another version. Its reason may be unknown here. */
function adopted(error: A2AError): A2AError | undefined {
  const { reason, message, cause = error } = error;
  if (typeof message !== "string" || !Object.hasOwn(reasons, reason)) return undefined;
  return restated(error, { cause });
}

/** Changes for a copy of an error. */
interface Restatement {
  readonly reason?: Reason;
  readonly message?: string;
  /** Facts that are added to those of the error. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  /** Default: the error's own cause. */
  readonly cause?: unknown;
}

/** Returns a copy of an error with some parts changed. */
export function restated(error: A2AError, changes: Restatement): A2AError {
  const { reason = error.reason, message = error.message, cause = error.cause } = changes;
  const metadata = { ...error.metadata, ...changes.metadata };
  return new A2AError(reason, message, { ...error, ...changes, metadata, cause });
}

/** Converts a ConnectError. It is recognized by its shape, because libraries bring their own copy of the class. */
function translated(thrown: unknown): A2AError | undefined {
  if (!(thrown instanceof Error) || thrown.name !== "ConnectError") return undefined;
  const { code, rawMessage } = membersOf(thrown);
  const reason = typeof code === "number" ? reasonOfCode.get(code) : undefined;
  if (reason === undefined || typeof rawMessage !== "string") return undefined;
  return new A2AError(reason, rawMessage, { cause: thrown });
}

/**
 * The error of a limit that rejects a call for now: 429 and RESOURCE_EXHAUSTED, with the name of the limit
 * (`metadata.limit`) and the delay before a retry, in milliseconds.
 */
export function limitReached(limit: keyof Limits | FixedLimit, message: string, retryAfterMs = 1_000): A2AError {
  return new A2AError("TOO_MANY_REQUESTS", message, { metadata: { limit }, retryAfterMs });
}
