import type { ServerHttp2Stream } from "node:http2";
import type { Peer } from "../../core/call.js";
import { A2AError, StatusCode, toA2AError } from "../../core/error.js";
import { inRoundOfItsOwn } from "../../core/event-loop.js";
import type { Account, Arrivals, Arriving } from "../../http/arrivals.js";
import { LONG_BYTES } from "../../http/body.js";
import { PREFIX_BYTES } from "../../wire/binary-output.js";
import { bytesOf } from "./compression.js";
import { type Envelope, EnvelopeReader, isOneMessage } from "./envelope-reader.js";
import { type GrpcStatus, statusOf } from "./error.js";
import type { Exchange } from "./exchange.js";
import { Refusal } from "./internal-service.js";

/** Where requests are counted until they are here, and how long that may take. */
export interface Incoming {
  readonly arrivals: Arrivals;
  /** The requests that are not here yet. */
  readonly late: LateRequests;
  /** Told of requests that a limit keeps out; undefined: no one asks. */
  readonly limited?: ((peer: Peer, limit: string) => void) | undefined;
}

/** What becomes of a request. */
export interface Request {
  /** The largest message, in bytes. */
  readonly maxBytes: number;
  /** Gets the message when it is here, and its stream has ended. It must not throw. */
  readonly arrived: (exchange: Exchange, message: Uint8Array) => void;
}

/** Where a stream keeps its request. */
const requestKey: unique symbol = Symbol("request");

type OwnStream = ServerHttp2Stream & { [requestKey]?: SingleRequest | undefined };

/** What Node needs for a piece of a message, beside its bytes. */
const PIECE_BYTES = 128;

/**
 * Reads the one message of a request. Most are here as a whole, with the end of their stream, in the round of the event
 * loop in which they begin: they are read at once, without a listener for each piece. Only the
 * others are counted and watched.
 */
export function readRequest(exchange: Exchange, request: Request, incoming: Incoming): void {
  const single = new SingleRequest(exchange, request, incoming);
  const stream: OwnStream = exchange.stream;
  stream[requestKey] = single;
  stream.on("end", onEnd);
  incoming.arrivals.begin(single);
}

class SingleRequest implements Arriving {
  began = 0;
  readonly #exchange: Exchange;
  readonly #request: Request;
  readonly #incoming: Incoming;
  /** The message, where it came in one piece. */
  #message: Buffer | undefined;
  /** What came in any other form. */
  #reader: EnvelopeReader | undefined;
  #envelope: Envelope | undefined;
  #account: Account | undefined;
  /** What has come so far, and what was counted of it, in bytes. */
  #size = 0;
  #isOver = false;
  /** It is here as a whole, and waits for its round. */
  #isWhole = false;

  constructor(exchange: Exchange, request: Request, incoming: Incoming) {
    this.#exchange = exchange;
    this.#request = request;
    this.#incoming = incoming;
  }

  get hasArrived(): boolean {
    return this.#isOver || this.#isWhole;
  }

  /** Called in the round after the one in which it began. */
  wait(): void {
    const { stream } = this.#exchange;
    if (stream.destroyed || this.#exchange.isOver) return;
    const piece: Buffer | null = this.#size === 0 ? stream.read() : null;
    if (piece === null) return this.#watch();
    this.take(piece);
    // The end of the stream is reported right after the bytes before it, if it has arrived.
    this.#incoming.arrivals.begin(this);
  }

  /** It is not here as a whole. */
  #watch(): void {
    const { stream } = this.#exchange;
    const { late } = this.#incoming;
    this.began = performance.now();
    this.#exchange.onOver = () => this.over();
    late.add(this);
    try {
      this.#open();
      stream.on("data", onData);
    } catch (error) {
      this.#refused(error);
    }
  }

  /** @throws A2AError with reason TOO_MANY_REQUESTS */
  #open(): void {
    this.#account = this.#incoming.arrivals.open(this.#exchange.peer.address);
    this.#account.take(this.#size);
  }

  take(piece: Buffer): void {
    if (this.#isOver) return;
    const size = piece.length + PIECE_BYTES;
    this.#size += size;
    try {
      this.#account?.take(size);
      if (this.#size === size && isOneMessage(piece, this.#request.maxBytes)) {
        this.#message = piece.subarray(PREFIX_BYTES);
      } else this.#read(piece);
    } catch (error) {
      this.#refused(error);
    }
  }

  /** @throws Refusal */
  #read(piece: Buffer): void {
    this.#reader ??= new EnvelopeReader(this.#request.maxBytes);
    for (const envelope of this.#reader.read(piece)) {
      if (this.#message !== undefined || this.#envelope !== undefined) throw secondMessage();
      this.#envelope = envelope;
    }
    if (this.#reader.isInside && (this.#message ?? this.#envelope) !== undefined) throw secondMessage();
  }

  /** The stream of the client has ended. */
  end(): void {
    if (this.#size < LONG_BYTES) return this.#pass();
    if (this.#isOver) return;
    this.#isWhole = true;
    try {
      if (this.#account === undefined) this.#open();
    } catch (error) {
      return this.#refused(error);
    }
    inRoundOfItsOwn(() => this.#pass());
  }

  #pass(): void {
    if (this.#isOver) return;
    this.over();
    if (this.#exchange.isOver) return;
    if (this.#message !== undefined) return this.#request.arrived(this.#exchange, this.#message);
    if (this.#envelope === undefined || this.#reader?.isInside === true) {
      const what = this.#reader === undefined ? "There is no message" : "The message is not whole";
      this.#refuse(new Refusal(StatusCode.INVALID_ARGUMENT, `${what} in the request.`), true);
      return;
    }
    void this.#arrive(this.#envelope);
  }

  async #arrive(envelope: Envelope): Promise<void> {
    try {
      const encoding = this.#exchange.header("grpc-encoding");
      this.#request.arrived(this.#exchange, await bytesOf(envelope, encoding, this.#request.maxBytes));
    } catch (error) {
      this.#refused(error, true);
    }
  }

  #refused(error: unknown, hasArrived = false): void {
    const status = refusalStatus(error);
    if (status.code === StatusCode.RESOURCE_EXHAUSTED) {
      const named = error instanceof A2AError ? error.metadata.limit : undefined;
      this.#incoming.limited?.(this.#exchange.peer, named ?? "maxRequestBytes");
    }
    this.#refuse(status, hasArrived);
  }

  /** It did not come in time. */
  late(timeoutMs: number): void {
    this.#refuse(statusOf(new A2AError("DEADLINE_EXCEEDED", `The request did not come within ${timeoutMs} ms.`)));
  }

  #refuse(status: GrpcStatus, hasArrived = false): void {
    if (this.#isOver && !hasArrived) return;
    this.over();
    this.#exchange.fail(status);
  }

  /** It has arrived, or is not needed any more. */
  over(): void {
    this.#isOver = true;
    this.#account?.close();
    if (this.began > 0) this.#incoming.late.delete(this);
  }
}

/** The requests that are not here as a whole, those that began first in front. */
export class LateRequests {
  readonly #timeoutMs: number;
  readonly #all = new Set<SingleRequest>();
  #sweep: NodeJS.Timeout | undefined;

  /** @param timeoutMs a request must be here within this time, in milliseconds, and a quarter of it */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  add(request: SingleRequest): void {
    this.#sweep ??= setInterval(() => this.#look(), Math.ceil(this.#timeoutMs / 4)).unref();
    this.#all.add(request);
  }

  delete(request: SingleRequest): void {
    this.#all.delete(request);
  }

  #look(): void {
    const since = performance.now() - this.#timeoutMs;
    for (const request of this.#all) {
      if (request.began > since) break;
      request.late(this.#timeoutMs);
    }
    if (this.#all.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}

/** What is thrown while a request is read, as a status. */
export function refusalStatus(thrown: unknown): GrpcStatus {
  return thrown instanceof Refusal ? thrown : statusOf(toA2AError(thrown));
}

function secondMessage(): Refusal {
  return new Refusal(StatusCode.UNIMPLEMENTED, "There is more than one message in the request.");
}

function onData(this: OwnStream, piece: Buffer): void {
  this[requestKey]?.take(piece);
}

function onEnd(this: OwnStream): void {
  const request = this[requestKey];
  // Node may keep the stream until a full collection.
  this[requestKey] = undefined;
  request?.end();
}
