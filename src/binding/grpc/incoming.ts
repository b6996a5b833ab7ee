import type { ServerHttp2Stream } from "node:http2";
import type { Peer } from "../../core/call.js";
import { A2AError, type Reason, StatusCode, type StatusName, statusNameOf, toA2AError } from "../../core/error.js";
import { runInOwnTurn } from "../../core/event-loop.js";
import { LONG_BYTES } from "../../http/body.js";
import type { BufferBudget, InboundBudget, PendingUpload } from "../../http/inbound-budget.js";
import { PREFIX_BYTES } from "../../wire/binary-output.js";
import type { Envelope, Envelopes } from "../../wire/envelopes.js";
import { bytesOf } from "./compression.js";
import { envelopeReader, isOneMessage } from "./envelope-reader.js";
import { type GrpcStatus, statusOf } from "./error.js";
import type { GrpcExchange } from "./exchange.js";
import { StatusError } from "./internal-service.js";

/** The quota and timeout of arriving requests. */
export interface GrpcRequestRules {
  readonly inboundBudget: InboundBudget;
  /** The incomplete requests. */
  readonly timeouts: RequestTimeouts;
  /** Notified of requests that a limit rejects. Undefined without an audit log. */
  readonly limited?: ((peer: Peer, limit: string) => void) | undefined;
  /** Counts requests that are rejected. Undefined without metrics. */
  readonly counted?: ((code: Reason | StatusName) => void) | undefined;
}

/** The handler of a request. */
export interface Request {
  /** Maximum size of the message, in bytes. */
  readonly maxBytes: number;
  /** Called with the message once it is complete and its stream has ended. It must not throw. */
  readonly arrived: (exchange: GrpcExchange, message: Uint8Array) => void;
}

/** Key of a stream's request. */
const requestKey: unique symbol = Symbol("request");

type OwnStream = ServerHttp2Stream & { [requestKey]?: SingleRequest | undefined };

/** Memory of a chunk in addition to its bytes, in bytes. */
const CHUNK_BYTES = 128;

/**
 * Reads the one message of a request. Most requests are complete, with the end of their stream, in the round of the
 * event loop in which they begin. Those are read at once, without a listener for each chunk. Only the others are
 * counted and timed.
 */
export function readRequest(exchange: GrpcExchange, request: Request, rules: GrpcRequestRules): void {
  const single = new SingleRequest(exchange, request, rules);
  const stream: OwnStream = exchange.stream;
  stream[requestKey] = single;
  stream.on("end", onEnd);
  rules.inboundBudget.begin(single);
}

class SingleRequest implements PendingUpload {
  began = 0;
  readonly #exchange: GrpcExchange;
  readonly #request: Request;
  readonly #rules: GrpcRequestRules;
  /** The message, if it arrived in one chunk. */
  #message: Buffer | undefined;
  /** Reader of a message in any other form. */
  #reader: Envelopes | undefined;
  #envelope: Envelope | undefined;
  #budget: BufferBudget | undefined;
  /** Bytes received and counted so far. */
  #size = 0;
  #isOver = false;
  /** True if the request is complete and waits for its round of the event loop. */
  #isWhole = false;

  constructor(exchange: GrpcExchange, request: Request, rules: GrpcRequestRules) {
    this.#exchange = exchange;
    this.#request = request;
    this.#rules = rules;
  }

  get hasArrived(): boolean {
    return this.#isOver || this.#isWhole;
  }

  /** Called in the round after the one in which the request began. */
  wait(): void {
    const { stream } = this.#exchange;
    if (stream.destroyed || this.#exchange.isOver) return;
    const chunk: Buffer | null = this.#size === 0 ? stream.read() : null;
    if (chunk === null) return this.#watch();
    this.take(chunk);
    // Node reports the end of the stream right after the bytes before it, if the end has arrived.
    this.#rules.inboundBudget.begin(this);
  }

  /** Counts and times a request that is still incomplete. */
  #watch(): void {
    const { stream } = this.#exchange;
    const { timeouts } = this.#rules;
    this.began = performance.now();
    this.#exchange.onOver = () => this.over();
    timeouts.add(this);
    try {
      this.#open();
      stream.on("data", onStreamData);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @throws A2AError with reason TOO_MANY_REQUESTS */
  #open(): void {
    this.#budget = this.#rules.inboundBudget.open(this.#exchange.peer.address);
    this.#budget.take(this.#size);
  }

  take(chunk: Buffer): void {
    if (this.#isOver) return;
    const size = chunk.length + CHUNK_BYTES;
    this.#size += size;
    try {
      this.#budget?.take(size);
      if (this.#size === size && isOneMessage(chunk, this.#request.maxBytes)) {
        this.#message = chunk.subarray(PREFIX_BYTES);
      } else this.#read(chunk);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @throws StatusError */
  #read(chunk: Buffer): void {
    this.#reader ??= envelopeReader(this.#request.maxBytes);
    this.#reader.push(chunk);
    for (let envelope = this.#reader.take(); envelope !== undefined; envelope = this.#reader.take()) {
      if (this.#message !== undefined || this.#envelope !== undefined) throw secondMessage();
      this.#envelope = envelope;
    }
    if (this.#reader.isInside && (this.#message ?? this.#envelope) !== undefined) throw secondMessage();
  }

  /** Handles the end of the client's stream. */
  end(): void {
    if (this.#size < LONG_BYTES) return this.#pass();
    if (this.#isOver) return;
    this.#isWhole = true;
    try {
      if (this.#budget === undefined) this.#open();
    } catch (error) {
      return this.#fail(error);
    }
    runInOwnTurn(() => this.#pass());
  }

  #pass(): void {
    if (this.#isOver) return;
    this.over();
    if (this.#exchange.isOver) return;
    if (this.#message !== undefined) return this.#request.arrived(this.#exchange, this.#message);
    if (this.#envelope === undefined || this.#reader?.isInside === true) {
      const what = this.#reader === undefined ? "The request has no message." : "The request's message is incomplete.";
      this.#refuse(new StatusError(StatusCode.INVALID_ARGUMENT, what), true);
      return;
    }
    void this.#arrive(this.#envelope);
  }

  async #arrive(envelope: Envelope): Promise<void> {
    try {
      const encoding = this.#exchange.header("grpc-encoding");
      const bytes = await bytesOf(envelope, encoding, this.#request.maxBytes);
      if (!this.#exchange.isOver) this.#request.arrived(this.#exchange, bytes);
    } catch (error) {
      this.#fail(error, true);
    }
  }

  #fail(error: unknown, hasArrived = false): void {
    const status = refusalStatus(error);
    if (status.code === StatusCode.RESOURCE_EXHAUSTED) {
      const named = error instanceof A2AError ? error.metadata.limit : undefined;
      this.#rules.limited?.(this.#exchange.peer, named ?? "maxRequestBytes");
    }
    this.#refuse(status, hasArrived);
  }

  /** Rejects a request that did not arrive in time. */
  onTimeout(timeoutMs: number): void {
    this.#refuse(statusOf(new A2AError("DEADLINE_EXCEEDED", `The request did not come within ${timeoutMs} ms.`)));
  }

  #refuse(status: GrpcStatus, hasArrived = false): void {
    if (this.#isOver && !hasArrived) return;
    this.over();
    this.#rules.counted?.(statusNameOf(status.code));
    this.#exchange.fail(status);
  }

  /** Releases the quota of a request that has arrived or was canceled. */
  over(): void {
    this.#isOver = true;
    this.#budget?.close();
    if (this.began > 0) this.#rules.timeouts.delete(this);
  }
}

/** The incomplete requests, oldest first. */
export class RequestTimeouts {
  readonly #timeoutMs: number;
  readonly #all = new Set<SingleRequest>();
  #sweep: NodeJS.Timeout | undefined;

  /** @param timeoutMs time for a request to arrive, in milliseconds; it is checked each quarter of this time */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  add(request: SingleRequest): void {
    this.#sweep ??= setInterval(() => this.#rejectLate(), Math.ceil(this.#timeoutMs / 4)).unref();
    this.#all.add(request);
  }

  delete(request: SingleRequest): void {
    this.#all.delete(request);
  }

  #rejectLate(): void {
    const since = performance.now() - this.#timeoutMs;
    for (const request of this.#all) {
      if (request.began > since) break;
      request.onTimeout(this.#timeoutMs);
    }
    if (this.#all.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}

/** Converts a value thrown while a request was read to a status. */
export function refusalStatus(thrown: unknown): GrpcStatus {
  return thrown instanceof StatusError ? thrown : statusOf(toA2AError(thrown));
}

function secondMessage(): StatusError {
  return new StatusError(StatusCode.UNIMPLEMENTED, "There is more than one message in the request.");
}

function onStreamData(this: OwnStream, chunk: Buffer): void {
  this[requestKey]?.take(chunk);
}

function onEnd(this: OwnStream): void {
  const request = this[requestKey];
  // Node may keep the stream until a full collection.
  this[requestKey] = undefined;
  request?.end();
}
