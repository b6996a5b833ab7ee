import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from "node:http2";
import { type Cancellation, LazyAbortController } from "../../core/async.js";
import type { CallStart, Peer } from "../../core/call.js";
import type { A2AError } from "../../core/error.js";
import { REQUEST_ID_HEADER, requestIdOf } from "../../core/ids.js";
import { allValues } from "../../http/exchange.js";
import { cancellationReason } from "../deadline.js";
import { type GrpcStatus, legalOf, statusOf, trailersOf } from "./error.js";

/** Key of a stream's exchange, so that listeners find it without a closure. */
const exchangeKey: unique symbol = Symbol("exchange");

type OwnStream = ServerHttp2Stream & { [exchangeKey]?: GrpcExchange | undefined };

/** Headers whose values never repeat. In the table of HPACK they would only evict others (RFC 7541, 6.2.3). */
const UNREPEATED = [REQUEST_ID_HEADER];

/** The headers of every answer. Copying them takes a tenth of the time of building them again. */
const HEAD: OutgoingHttpHeaders = {
  [constants.HTTP2_HEADER_STATUS]: 200,
  [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc+proto",
  [REQUEST_ID_HEADER]: "",
  [sensitiveHeaders]: UNREPEATED,
};

function initialHeaders(requestId: string): OutgoingHttpHeaders {
  return { ...HEAD, [REQUEST_ID_HEADER]: requestId };
}

/**
 * Options of `respond()`. Without `endStream` Node would create an object of a new shape for every call. gRPC does not
 * use the date.
 */
const OPTIONS = { waitForTrailers: true, endStream: false, sendDate: false };
const ALONE = { waitForTrailers: false, endStream: true, sendDate: false };

const OK_TRAILERS = { "grpc-status": "0" };

/** The start of a call. */
export interface ExchangeStart {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Names and values of all headers, alternating. */
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  /** Version implied by the package of the service. */
  readonly impliedVersion: string;
}

/**
 * One call on the gRPC port: its facts and its answer (specification 10, PROTOCOL-HTTP2). Cheap to create: everything
 * except its fields is created on demand.
 */
export class GrpcExchange extends LazyAbortController implements CallStart {
  readonly binding = "grpc";
  readonly impliedVersion: string;
  readonly peer: Peer;
  readonly stream: ServerHttp2Stream;
  /** Called when the stream has ended for any reason. */
  onOver: (() => void) | undefined;
  readonly #headers: IncomingHttpHeaders;
  readonly #rawHeaders: readonly string[];
  #isAnswered = false;
  /** True while a message is partly written. */
  #isInside = false;
  /** In milliseconds since 1970. */
  #deadline = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #trailers: OutgoingHttpHeaders = OK_TRAILERS;
  #requestId: string | undefined;

  constructor({ stream, headers, rawHeaders, peer, impliedVersion }: ExchangeStart) {
    super();
    this.stream = stream;
    this.peer = peer;
    this.impliedVersion = impliedVersion;
    this.#headers = headers;
    this.#rawHeaders = rawHeaders;
    const own: OwnStream = stream;
    own[exchangeKey] = this;
    stream.on("close", onStreamClose);
  }

  /** Ends the call after the given milliseconds. */
  limit(timeoutMs: number): void {
    this.#deadline = Date.now() + timeoutMs;
    this.#timer = setTimeout(onDeadline, timeoutMs, this);
  }

  get deadline(): number {
    return this.#deadline;
  }

  /** Returns a header. Binary metadata is not a header of the protocol (specification 3.2.6, 10.2). */
  header(name: string): string | undefined {
    const value = this.#headers[name];
    if (value === undefined || name.endsWith("-bin")) return undefined;
    if (name === "authorization") return allValues(this.#rawHeaders, name);
    return typeof value === "string" ? value : value.join(", ");
  }

  /** Id of the request, which its answer and its log lines carry. */
  get requestId(): string {
    this.#requestId ??= requestIdOf(this.header(REQUEST_ID_HEADER));
    return this.#requestId;
  }

  get cancellation(): Cancellation {
    return this;
  }

  /** The cause of the cancellation. */
  override get reason(): A2AError {
    return cancellationReason(this.#deadline);
  }

  /** True if the call can no longer be answered. */
  get isOver(): boolean {
    return this.#isAnswered || this.stream.destroyed || this.stream.closed;
  }

  /** Sends the headers of the answer, unless they are sent. */
  begin(headers?: ReadonlyMap<string, string>): void {
    const { stream } = this;
    if (stream.headersSent) return;
    stream.on("wantTrailers", onWantTrailers);
    const head = initialHeaders(this.requestId);
    stream.respond(headers === undefined || headers.size === 0 ? head : headWith(headers, head), OPTIONS);
  }

  /** Answers with one message, including its prefix. */
  reply(envelope: Uint8Array, headers?: ReadonlyMap<string, string>): void {
    if (this.isOver) return;
    this.begin(headers);
    this.#answered();
    this.stream.end(envelope);
  }

  /** Runs `write`, which writes a large message piece by piece. */
  async writeLarge(headers: ReadonlyMap<string, string>, write: () => Promise<unknown>): Promise<void> {
    this.begin(headers);
    this.#isInside = true;
    await write();
    this.#isInside = false;
  }

  /** Ends the answer after its last message. */
  end(headers?: ReadonlyMap<string, string>): void {
    if (this.isOver) return;
    this.begin(headers);
    this.#answered();
    this.stream.end();
  }

  /** Answers with an error, after the messages already written. Does nothing if the call has ended. */
  fail(status: GrpcStatus, headers?: ReadonlyMap<string, string>): void {
    if (this.isOver) return;
    const { stream } = this;
    const trailers = trailersOf(status);
    if (!stream.headersSent && (headers === undefined || headers.size === 0)) {
      this.#answered();
      stream.respond({ ...trailers, ...initialHeaders(this.requestId) }, ALONE);
      // Closes the stream after the answer, because the rest of the request is not needed (RFC 9113, 8.1).
      if (!stream.readableEnded) setImmediate(dropRest, stream);
      return;
    }
    this.begin(headers);
    this.#answered();
    this.#trailers = trailers;
    stream.end();
  }

  /** Ends a call to which no error can be sent. */
  breakOff(): void {
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  /** Marks the call as answered. From here on, the end of the stream is not a cancellation. */
  #answered(): void {
    this.#isAnswered = true;
    clearTimeout(this.#timer);
  }

  override cancel(): void {
    if (!this.#isAnswered) super.cancel();
  }

  /** Ends the call when the client's deadline has passed. */
  onDeadline(): void {
    this.cancel();
    // A status cannot follow an incomplete message.
    if (this.#isInside) this.stream.close(constants.NGHTTP2_CANCEL);
    else this.fail(statusOf(cancellationReason(0)));
  }

  /** Handles the end of the stream. */
  closed(): void {
    clearTimeout(this.#timer);
    this.cancel();
    this.onOver?.();
  }

  /** Trailers that are sent after the messages. */
  get trailers(): OutgoingHttpHeaders {
    return this.#trailers;
  }
}

function headWith(headers: ReadonlyMap<string, string>, head: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const own = Object.fromEntries(legalOf(headers));
  return { ...own, ...head, ...(REQUEST_ID_HEADER in own && { [REQUEST_ID_HEADER]: own[REQUEST_ID_HEADER] }) };
}

function onStreamClose(this: OwnStream): void {
  const exchange = this[exchangeKey];
  // Node may keep the stream until a full collection.
  this[exchangeKey] = undefined;
  exchange?.closed();
}

function onWantTrailers(this: OwnStream): void {
  this.sendTrailers(this[exchangeKey]?.trailers ?? OK_TRAILERS);
  if (!this.readableEnded) setImmediate(dropRest, this);
}

function onDeadline(exchange: GrpcExchange): void {
  exchange.onDeadline();
}

/** Closes an answered stream whose request is still arriving. */
export function dropRest(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.close();
}
