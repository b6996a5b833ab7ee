import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { CallStart, Peer } from "../../core/call.js";
import type { Cancellation } from "../../core/cancellation.js";
import type { A2AError } from "../../core/error.js";
import { callAll } from "../../core/event-loop.js";
import { allValues } from "../../http/exchange.js";
import { departureOf } from "../deadline.js";
import { type GrpcStatus, legalOf, statusOf, trailersOf } from "./error.js";

/** Where a stream keeps its exchange, so that listeners find it without a closure. */
const exchangeKey: unique symbol = Symbol("exchange");

type OwnStream = ServerHttp2Stream & { [exchangeKey]?: Exchange | undefined };

/** The head of every answer. */
const HEAD: OutgoingHttpHeaders = {
  [constants.HTTP2_HEADER_STATUS]: 200,
  [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc+proto",
};

/** Without `endStream` Node would make V8 describe a new kind of object for every call. gRPC has no use for a date. */
const OPTIONS = { waitForTrailers: true, endStream: false, sendDate: false };
const ALONE = { waitForTrailers: false, endStream: true, sendDate: false };

const OK_TRAILERS = { "grpc-status": "0" };

/** What a call begins with. */
export interface ExchangeStart {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Names and values of all headers, by turns. */
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  /** Name of the version that the package of the service stands for. */
  readonly impliedVersion: string;
}

/**
 * One call on the gRPC port: what gRPC tells about it, and what it is answered with (specification 10, PROTOCOL-HTTP2).
 * Cheap to make: everything but its fields is made on demand.
 */
export class Exchange implements CallStart, Cancellation {
  readonly binding = "grpc";
  readonly impliedVersion: string;
  readonly peer: Peer;
  readonly stream: ServerHttp2Stream;
  /** Called when the stream is over, for whatever reason. */
  onOver: (() => void) | undefined;
  readonly #headers: IncomingHttpHeaders;
  readonly #rawHeaders: readonly string[];
  #isAnswered = false;
  #isCanceled = false;
  /** A part of a message was written, and not all of it. */
  #isInside = false;
  #callbacks: (() => void)[] | undefined;
  #controller: AbortController | undefined;
  /** In milliseconds since 1970. */
  #deadline = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #trailers: OutgoingHttpHeaders = OK_TRAILERS;

  constructor({ stream, headers, rawHeaders, peer, impliedVersion }: ExchangeStart) {
    this.stream = stream;
    this.peer = peer;
    this.impliedVersion = impliedVersion;
    this.#headers = headers;
    this.#rawHeaders = rawHeaders;
    (stream as OwnStream)[exchangeKey] = this;
    stream.on("close", onClose);
  }

  /** Ends the call in so many milliseconds. */
  limit(timeoutMs: number): void {
    this.#deadline = Date.now() + timeoutMs;
    this.#timer = setTimeout(onDeadline, timeoutMs, this);
  }

  get deadline(): number {
    return this.#deadline;
  }

  /** Binary metadata is no header of the protocol (specification 3.2.6, 10.2). */
  header(name: string): string | undefined {
    const value = this.#headers[name];
    if (value === undefined || name.endsWith("-bin")) return undefined;
    if (name === "authorization") return allValues(this.#rawHeaders, name);
    return typeof value === "string" ? value : value.join(", ");
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isCanceled) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  get cancellation(): Cancellation {
    return this;
  }

  /** Whether the client is gone, or its deadline has passed, before it had its answer. */
  get canceled(): boolean {
    return this.#isCanceled;
  }

  /** Why the call cannot be answered any more. */
  get reason(): A2AError {
    return departureOf(this.#deadline);
  }

  onCancel(callback: () => void): () => void {
    if (this.#isCanceled) {
      callback();
      return nothing;
    }
    this.#callbacks ??= [];
    const callbacks = this.#callbacks;
    callbacks.push(callback);
    return () => {
      const at = callbacks.indexOf(callback);
      if (at >= 0) callbacks.splice(at, 1);
    };
  }

  /** Whether nothing more can be answered. */
  get isOver(): boolean {
    return this.#isAnswered || this.stream.destroyed || this.stream.closed;
  }

  /** Sends the head of the answer, if it is not out. */
  begin(headers?: ReadonlyMap<string, string>): void {
    const { stream } = this;
    if (stream.headersSent) return;
    stream.on("wantTrailers", onWantTrailers);
    const head = headers === undefined || headers.size === 0 ? HEAD : headWith(headers);
    stream.respond(head, OPTIONS);
  }

  /** Answers with one message, behind its envelope. */
  reply(envelope: Uint8Array, headers?: ReadonlyMap<string, string>): void {
    if (this.isOver) return;
    this.begin(headers);
    this.#answered();
    this.stream.end(envelope);
  }

  /** Has a large message written, piece by piece. */
  async writeLarge(headers: ReadonlyMap<string, string>, write: () => Promise<unknown>): Promise<void> {
    this.begin(headers);
    this.#isInside = true;
    await write();
    this.#isInside = false;
  }

  /** Says that all messages were written. */
  end(headers?: ReadonlyMap<string, string>): void {
    if (this.isOver) return;
    this.begin(headers);
    this.#answered();
    this.stream.end();
  }

  /** Answers with an error, behind what was written. Nothing happens where the call is over. */
  fail(status: GrpcStatus, headers?: ReadonlyMap<string, string>): void {
    if (this.isOver) return;
    const { stream } = this;
    const trailers = trailersOf(status);
    if (!stream.headersSent && (headers === undefined || headers.size === 0)) {
      this.#answered();
      stream.respond({ ...trailers, ...HEAD }, ALONE);
      // What the client still sends is not wanted; this says so when the answer is out (RFC 9113, 8.1).
      if (!stream.readableEnded) setImmediate(dropRest, stream);
      return;
    }
    this.begin(headers);
    this.#answered();
    this.#trailers = trailers;
    stream.end();
  }

  /** Ends a call that not even an error can be sent to. */
  breakOff(): void {
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  /** From here on the end of the stream is no cancellation. */
  #answered(): void {
    this.#isAnswered = true;
    this.#callbacks = undefined;
    clearTimeout(this.#timer);
  }

  #cancel(): void {
    if (this.#isAnswered || this.#isCanceled) return;
    this.#isCanceled = true;
    const callbacks = this.#callbacks;
    this.#callbacks = undefined;
    this.#controller?.abort(this.reason);
    if (callbacks !== undefined) callAll([...callbacks]);
  }

  /** The client's deadline has passed. */
  late(): void {
    this.#cancel();
    // No status may stand behind half a message.
    if (this.#isInside) this.stream.close(constants.NGHTTP2_CANCEL);
    else this.fail(statusOf(departureOf(0)));
  }

  /** The stream is over. */
  closed(): void {
    clearTimeout(this.#timer);
    this.#cancel();
    this.onOver?.();
  }

  /** Sent when the messages have left. */
  get trailers(): OutgoingHttpHeaders {
    return this.#trailers;
  }
}

function headWith(headers: ReadonlyMap<string, string>): OutgoingHttpHeaders {
  return { ...Object.fromEntries(legalOf(headers)), ...HEAD };
}

function onClose(this: OwnStream): void {
  const exchange = this[exchangeKey];
  // Node may keep the stream until a full collection.
  this[exchangeKey] = undefined;
  exchange?.closed();
}

function onWantTrailers(this: OwnStream): void {
  this.sendTrailers(this[exchangeKey]?.trailers ?? OK_TRAILERS);
  if (!this.readableEnded) setImmediate(dropRest, this);
}

function onDeadline(exchange: Exchange): void {
  exchange.late();
}

/** Ends what is left of a stream that was answered, while its request still arrives. */
export function dropRest(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.close();
}

function nothing(): void {}
