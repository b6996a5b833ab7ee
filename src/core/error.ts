import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";

/** How one reason looks on every wire. */
export interface ReasonRow {
  /** Status of gRPC and Connect; REST repeats its name in `error.status`. */
  readonly code: Code;
  /** HTTP status of REST. */
  readonly http: number;
  /** `error.code` of JSON-RPC. Outside the nine A2A errors -32000 stands for "see the ErrorInfo". */
  readonly jsonrpc: number;
  /** ErrorInfo domain. */
  readonly domain: string;
}

/**
 * ErrorInfo domain of the nine errors that the specification names (sections 9.5, 10.6, 11.6), and of those whose names
 * published clients look for under it although no text gives them one.
 */
export const A2A_DOMAIN = "a2a-protocol.org";

/** ErrorInfo domain of the errors that Parley adds: limits, preconditions, availability. */
export const PARLEY_DOMAIN = "urn:parley";

const a2a = (code: Code, http: number, jsonrpc: number): ReasonRow => ({ code, http, jsonrpc, domain: A2A_DOMAIN });
const own = (code: Code, http: number, jsonrpc: number): ReasonRow => ({ code, http, jsonrpc, domain: PARLEY_DOMAIN });

/** Name of an error, as ErrorInfo carries it. */
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
  | "IDEMPOTENCY_KEY_REUSED"
  | "GENERATION_MISMATCH"
  | "CANCELLED"
  | "DEADLINE_EXCEEDED"
  | "UNAVAILABLE"
  | "INTERNAL";

/**
 * The one table from an error's reason to every wire's code. The first nine rows are section 5.4 of the
 * specification, the others its sections 9.5 (codes of JSON-RPC) and 3.3.2 (error categories) and what a serious server
 * adds. The two of JSON-RPC's envelope occur nowhere else.
 */
export const reasons: Readonly<Record<Reason, ReasonRow>> = {
  TASK_NOT_FOUND: a2a(Code.NotFound, 404, -32001),
  TASK_NOT_CANCELABLE: a2a(Code.FailedPrecondition, 400, -32002),
  PUSH_NOTIFICATION_NOT_SUPPORTED: a2a(Code.FailedPrecondition, 400, -32003),
  UNSUPPORTED_OPERATION: a2a(Code.FailedPrecondition, 400, -32004),
  CONTENT_TYPE_NOT_SUPPORTED: a2a(Code.InvalidArgument, 400, -32005),
  INVALID_AGENT_RESPONSE: a2a(Code.Internal, 500, -32006),
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: a2a(Code.FailedPrecondition, 400, -32007),
  EXTENSION_SUPPORT_REQUIRED: a2a(Code.FailedPrecondition, 400, -32008),
  VERSION_NOT_SUPPORTED: a2a(Code.FailedPrecondition, 400, -32009),
  INVALID_PARAMS: a2a(Code.InvalidArgument, 400, -32602),
  INVALID_REQUEST: a2a(Code.InvalidArgument, 400, -32600),
  PARSE_ERROR: a2a(Code.InvalidArgument, 400, -32700),
  UNAUTHENTICATED: a2a(Code.Unauthenticated, 401, -32000),
  PERMISSION_DENIED: own(Code.PermissionDenied, 403, -32000),
  HOST_NOT_ALLOWED: own(Code.PermissionDenied, 421, -32000),
  METHOD_NOT_FOUND: a2a(Code.Unimplemented, 404, -32601),
  METHOD_NOT_ALLOWED: own(Code.Unimplemented, 405, -32601),
  MEDIA_TYPE_NOT_SUPPORTED: own(Code.InvalidArgument, 415, -32005),
  REQUEST_TOO_LARGE: own(Code.ResourceExhausted, 413, -32600),
  TASK_TOO_LARGE: own(Code.ResourceExhausted, 413, -32000),
  TASK_DAMAGED: own(Code.DataLoss, 500, -32603),
  TOO_MANY_REQUESTS: own(Code.ResourceExhausted, 429, -32000),
  IDEMPOTENCY_KEY_REUSED: own(Code.AlreadyExists, 409, -32000),
  GENERATION_MISMATCH: own(Code.Aborted, 409, -32000),
  CANCELLED: own(Code.Canceled, 499, -32000),
  DEADLINE_EXCEEDED: own(Code.DeadlineExceeded, 504, -32603),
  UNAVAILABLE: own(Code.Unavailable, 503, -32603),
  INTERNAL: own(Code.Internal, 500, -32603),
};

/** One thing wrong with a request: a path such as `message.parts[0].text` and what is wrong there. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** What may accompany an error. */
export interface A2AErrorOptions {
  /** Facts for the client, strings only. Never secrets, never whether somebody else's resource exists. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Every violation of a validation error, as `google.rpc.BadRequest`. */
  readonly violations?: readonly Violation[];
  /** When trying again makes sense, in milliseconds, as `google.rpc.RetryInfo`. */
  readonly retryAfterMs?: number;
  /** Headers of the response, such as `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The real cause, for the log alone: it never leaves the process. */
  readonly cause?: unknown;
}

/**
 * The one error of the protocol. It carries `google.rpc.ErrorInfo` (reason and domain) on every binding, and
 * `BadRequest` when it names violations. Specification: sections 3.3.2, 5.4, 9.5, 10.6, 11.6.
 */
export class A2AError extends ConnectError {
  readonly reason: Reason;
  readonly violations: readonly Violation[];
  readonly retryAfterMs: number | undefined;
  readonly info: Readonly<Record<string, string>>;

  constructor(reason: Reason, message: string, options: A2AErrorOptions = {}) {
    super(message, reasons[reason].code, options.headers, [], options.cause);
    this.reason = reason;
    this.violations = options.violations ?? [];
    this.retryAfterMs = options.retryAfterMs;
    this.info = options.metadata ?? {};
    this.details = this.#details();
  }

  /**
   * Only what was made by this class. ConnectError tells its instances by their name, so that several copies of the library
   * understand each other; the name therefore stays, and ours are told by their class.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Object.prototype.isPrototypeOf.call(A2AError.prototype, value as object);
  }

  /** This reason's row of the table. */
  get row(): ReasonRow {
    return reasons[this.reason];
  }

  #details(): ConnectError["details"] {
    const details: ConnectError["details"] = [];
    const info: MessageInitShape<typeof ErrorInfoSchema> = {
      reason: this.reason,
      domain: this.row.domain,
      metadata: { ...this.info },
    };
    details.push({ desc: ErrorInfoSchema, value: info });
    if (this.violations.length > 0) {
      details.push({ desc: BadRequestSchema, value: { fieldViolations: this.violations.map((v) => ({ ...v })) } });
    }
    if (this.retryAfterMs !== undefined) {
      const seconds = BigInt(Math.floor(this.retryAfterMs / 1000));
      details.push({
        desc: RetryInfoSchema,
        value: { retryDelay: { seconds, nanos: Math.round((this.retryAfterMs % 1000) * 1_000_000) } },
      });
    }
    return details;
  }
}

/** The validation error of every binding: all violations at once (specification 3.3.2, 9.5). */
export function invalid(violations: readonly Violation[]): A2AError {
  const named = violations.map((v) => (v.field === "" ? v.description : `${v.field}: ${v.description}`));
  return new A2AError("INVALID_PARAMS", `Invalid parameters: ${named.join("; ")}`, { violations });
}

/**
 * Not found, in the words that every operation uses, whether the task is unknown or somebody else's
 * (specification 3.3.2: the two are not told apart).
 */
export function taskNotFound(taskId: string): A2AError {
  return new A2AError("TASK_NOT_FOUND", "The task does not exist or is not accessible.", { metadata: { taskId } });
}

const reasonOfCode = new Map<Code, Reason>([
  [Code.InvalidArgument, "INVALID_PARAMS"],
  [Code.Unauthenticated, "UNAUTHENTICATED"],
  [Code.PermissionDenied, "PERMISSION_DENIED"],
  [Code.Unimplemented, "METHOD_NOT_FOUND"],
  [Code.ResourceExhausted, "TOO_MANY_REQUESTS"],
  [Code.AlreadyExists, "IDEMPOTENCY_KEY_REUSED"],
  [Code.Aborted, "GENERATION_MISMATCH"],
  [Code.Canceled, "CANCELLED"],
  [Code.DeadlineExceeded, "DEADLINE_EXCEEDED"],
  [Code.Unavailable, "UNAVAILABLE"],
]);

/**
 * Any thrown value as the error that may leave the process: an A2AError as it is, a ConnectError of a library with
 * its code, everything else as "internal error" with the real one kept in `cause`.
 */
export function toA2AError(thrown: unknown): A2AError {
  if (thrown instanceof A2AError) return thrown;
  if (thrown instanceof ConnectError) {
    const reason = reasonOfCode.get(thrown.code);
    if (reason !== undefined) return new A2AError(reason, thrown.rawMessage, { cause: thrown });
  }
  return new A2AError("INTERNAL", "Internal error.", { cause: thrown });
}
