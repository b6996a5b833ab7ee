import type { Message } from "@bufbuild/protobuf";
import { type Audit, auditOf, forAudit } from "../../audit/audit.js";
import { background, type Cancellation, LazyAbortController } from "../../core/async.js";
import type { AnswerRefusals, Call } from "../../core/call.js";
import { A2AError, limitReached, type Reason, toA2AError } from "../../core/error.js";
import { REQUEST_ID_HEADER } from "../../core/ids.js";
import type { Limits } from "../../core/limits.js";
import { logFacts } from "../../core/log.js";
import { mapStream, type StreamSteps } from "../../core/map-stream.js";
import { dropTransportHeaders } from "../../core/net.js";
import { weightOf } from "../../wire/marks.js";
import { type Invocation, isStream, type ServiceInterceptor } from "../invoke.js";
import type { ServiceOptions } from "../options.js";
import { dropAnswer } from "../outgoing-budget.js";

/** Delay after which a rejected call may be retried, in milliseconds. */
const retryAfterMs = 1_000;

interface AdmissionParts extends Pick<ServiceOptions, "limits" | "draining" | "audit" | "metrics"> {
  /** Names of the limits in errors, if they are not those of the A2A protocol. */
  readonly names?: Readonly<Record<Counter, Parameters<typeof limitReached>[0]>>;
}

/**
 * Counts the open calls and streams and rejects those above the limits. It also converts every error to an A2AError, so
 * that an unexpected error is an "internal error" in every binding, and records rejections in the audit log.
 */
export function admission(parts: AdmissionParts): ServiceInterceptor {
  const gate = new Gate(parts);
  const { audit } = parts;
  return (next) => async (invocation) => {
    const began = gate.begin(invocation);
    const counter = gate.acquire(invocation, began);
    let streaming = false;
    const { call } = invocation;
    if (audit !== undefined) call.refusals = new AuditedRefusals(audit, invocation);
    try {
      const answer = await next(invocation);
      if (call.answerHeaders.size > 0) dropTransportHeaders(call.responseHeaders);
      if (!isStream(answer)) {
        if (call.written !== undefined && weightOf(answer) === undefined) dropAnswer(call);
        gate.ended(invocation, "OK", began);
        return answer;
      }
      streaming = true;
      return mapStream(answer, new CountedStream(invocation, gate, began));
    } catch (error) {
      dropAnswer(call);
      throw gate.errorOfEnd(error, invocation, began);
    } finally {
      if (!streaming) gate.release(call, counter);
    }
  };
}

type Counter = "calls" | "streams";

/** The limits of the A2A protocol. */
const limitNames = { calls: "maxCalls", streams: "maxStreams" } as const;

/** Counts open calls and streams, and converts errors. */
class Gate {
  readonly limits: Limits;
  readonly #parts: AdmissionParts;
  readonly #open = { calls: 0, streams: 0 };

  constructor(parts: AdmissionParts) {
    this.limits = parts.limits;
    this.#parts = parts;
  }

  /**
   * Counts a call in the metrics, including one that is refused later. @returns the time of its start, in milliseconds
   */
  begin({ method }: Invocation): number {
    const { metrics } = this.#parts;
    if (metrics === undefined) return 0;
    metrics.callBegan(method.name);
    return performance.now();
  }

  /** Counts the end of a call in the metrics. */
  ended({ call, method }: Invocation, code: "OK" | Reason, began: number): void {
    const { metrics } = this.#parts;
    if (metrics === undefined) return;
    const { binding, impliedVersion = "" } = call;
    const version = call.version === "" ? impliedVersion : call.version;
    const labels = { binding, method: method.name, version };
    metrics.callEnded(labels, code, (performance.now() - began) / 1_000);
  }

  /** Counts a call. @returns the counter that `release` decrements */
  acquire(invocation: Invocation, began: number): Counter {
    const counter = invocation.method.methodKind === "unary" ? "calls" : "streams";
    if (this.#parts.draining()) {
      const error = new A2AError("UNAVAILABLE", "The server is shutting down.", { retryAfterMs });
      throw this.errorOfEnd(error, invocation, began);
    }
    if (this.#open[counter] >= this.limits[limitNames[counter]]) {
      const limit = (this.#parts.names ?? limitNames)[counter];
      throw this.errorOfEnd(limitReached(limit, `The server has too many ${counter} open.`), invocation, began);
    }
    this.#open[counter]++;
    return counter;
  }

  /** Decrements the counters of the server and of the caller, and releases the memory of the request. */
  release({ share, held }: Call, counter: Counter): void {
    this.#open[counter]--;
    if (share !== undefined) share[counter]--;
    held?.release();
  }

  /** Counts the end of a call by an error. Returns the error for the client. */
  errorOfEnd(error: unknown, invocation: Invocation, began: number): A2AError {
    const known = this.failed(error, invocation);
    this.ended(invocation, known.reason, began);
    return known;
  }

  failed(error: unknown, invocation: Invocation): A2AError {
    const { audit } = this.#parts;
    const known = wrapError(error, invocation.call);
    if (audit !== undefined) recordRejection(audit, known, invocation);
    return known;
  }
}

/**
 * A stream of answers that is counted until it ends. A stream that is never read must still be ended with `return()`,
 * as every binding does. After its first message the stream ends when the caller's credentials expire; the operation
 * sees this as the client's departure.
 */
class CountedStream implements StreamSteps<Message, Message> {
  readonly #invocation: Invocation;
  readonly #gate: Gate;
  readonly #began: number;
  #expiry: Expiry | undefined;
  /** Code for the metrics. CANCELLED unless something other than the client ends the stream. */
  #code: "OK" | Reason = "CANCELLED";

  constructor(invocation: Invocation, gate: Gate, began: number) {
    this.#invocation = invocation;
    this.#gate = gate;
    this.#began = began;
  }

  item(message: Message): Message {
    this.#expire();
    return message;
  }

  done(): void {
    if (this.#expiry?.hasPassed === true) throw expired();
    this.#code = "OK";
  }

  failed(error: unknown): A2AError {
    const known = this.#gate.failed(this.#expiry?.hasPassed === true ? expired() : error, this.#invocation);
    this.#code = known.reason;
    return known;
  }

  end(): void {
    this.#gate.ended(this.#invocation, this.#code, this.#began);
    this.#gate.release(this.#invocation.call, "streams");
    this.#expiry?.end();
  }

  /** Ends the stream when the caller's credentials expire. */
  #expire(): void {
    const { call } = this.#invocation;
    if (this.#expiry !== undefined || call.caller.expiresAt === undefined) return;
    const ms = call.caller.expiresAt + this.#gate.limits.expiredStreamGraceMs - Date.now();
    this.#expiry = new Expiry(call.cancellation, ms);
    call.cancellation = this.#expiry;
  }
}

/**
 * Records refusals of one answer. A closure over the call would do the same, but V8 then keeps each call until a full
 * garbage collection: a reply costs a quarter more.
 */
class AuditedRefusals implements AnswerRefusals {
  readonly #audit: Audit;
  readonly #invocation: Invocation;

  constructor(audit: Audit, invocation: Invocation) {
    this.#audit = audit;
    this.#invocation = invocation;
  }

  record(error: A2AError): void {
    recordRejection(this.#audit, error, this.#invocation);
  }
}

/** Records a rejection in the audit log: its caller, method and reason. */
function recordRejection(audit: Audit, error: A2AError, { call, method, request }: Invocation): void {
  const note = auditOf(error);
  if (note === undefined) return;
  const { binding, caller, peer } = call;
  const { tenant }: Message & { tenant?: string } = request;
  audit.record({
    owner: caller.owner,
    subject: caller.subject,
    address: peer.address,
    tenant,
    method: method.name,
    binding,
    // Leaves out the task, which may be another caller's.
    ...logFacts({ requestId: call.requestId, traceParent: call.traceParent, agent: call.agent }),
    ...note,
  });
}

/**
 * The error of a stream whose credentials have expired. The task continues, and the caller may subscribe to it with new
 * credentials.
 */
function expired(): A2AError {
  const message = "The credentials of the stream have expired; subscribe to the task again with new ones to continue.";
  const error = new A2AError("UNAUTHENTICATED", message);
  return forAudit(error, { event: "authentication.expired", reason: "expired" });
}

/** Adds the request id to a failed answer, so that the client can report it and operators find the log entries. */
function wrapError(error: unknown, call: Call): A2AError {
  dropTransportHeaders(call.responseHeaders);
  call.responseHeaders.set(REQUEST_ID_HEADER, call.requestId);
  return toA2AError(error);
}

/** Maximum delay of a timer, in milliseconds. */
const MAX_MS = 2 ** 31 - 1;

/** A cancellation that also fires after a timeout. The creator must call `end`. */
class Expiry extends LazyAbortController {
  readonly #timer: NodeJS.Timeout | undefined;
  #hasPassed = false;

  constructor(client: Cancellation, ms: number) {
    super();
    client.onCancel(() => this.cancel());
    // A stream with a longer timeout ends with its connection.
    if (ms <= MAX_MS) this.#timer = background(setTimeout(() => this.#pass(), Math.max(0, ms)));
  }

  /** True if the timeout has passed. False if the client has left, or neither has happened. */
  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #pass(): void {
    this.#hasPassed = true;
    this.cancel();
  }
}
