import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { A2AError } from "../../core/error.js";
import { membersOf } from "../../core/members.js";
import type { HttpClient } from "../platform.js";
import { firstValue, split } from "./http.js";
import { IncomingAnswer } from "./incoming.js";
import type { Session, Sessions } from "./sessions.js";

/** Creates an HTTP/2 client, whose answers have trailers. */
export function http2Client(sessions: Sessions): HttpClient {
  const origins = new Set<string>();
  return (ask) =>
    new Promise((resolve, reject) => {
      const exchange = new Http2Request(ask, resolve, reject);
      try {
        const [origin, path] = split(ask.url, origins);
        exchange.begin(sessions, origin, path);
      } catch (error) {
        exchange.fail(error);
      }
    });
}

/** Property of a stream that holds its exchange, so that all streams share their listeners. */
const exchangeKey: unique symbol = Symbol("exchange");

type Stream = ClientHttp2Stream & { [exchangeKey]?: Http2Request | undefined };

/** One request and its answer, on an HTTP/2 stream. */
class Http2Request extends IncomingAnswer {
  #session: Session | undefined;
  #stream: Stream | undefined;
  #path = "/";
  /** Bytes read from the connection when this call last received something. */
  #heard = 0;
  #fields: IncomingHttpHeaders = {};
  #trailing: IncomingHttpHeaders | undefined;
  #trailers: Headers | undefined;

  begin(sessions: Sessions, origin: string, path: string): void {
    this.listen();
    this.#path = path;
    const session = sessions.take(origin);
    this.#session = session;
    if (session.isReady) this.#request(session);
    else void this.#requestLater(sessions, origin, session);
  }

  fail(error: unknown): void {
    this.end(this.#wasRefused() ? refusedStreamError(error) : error);
  }

  protected override end(failure: unknown): void {
    if (!this.isOver && isTimedOut(failure)) this.#session?.doubt(this.#heard);
    this.#releaseSession();
    // Node.js may keep a stream, and everything it references, until the next full garbage collection.
    if (this.#stream !== undefined) this.#stream[exchangeKey] = undefined;
    super.end(failure);
  }

  get trailers(): Headers | undefined {
    if (this.#trailing !== undefined) this.#trailers ??= webHeaders(this.#trailing);
    return this.#trailers;
  }

  field(of: "headers" | "trailers", name: string): string | undefined {
    const value = (of === "headers" ? this.#fields : this.#trailing)?.[name];
    return value === undefined ? undefined : firstValue(value);
  }

  /** Waits until the connection is open or has answered a ping. Takes another one if it does not. */
  async #requestLater(sessions: Sessions, origin: string, taken: Session): Promise<void> {
    try {
      for (let session = taken; ; session = sessions.take(origin)) {
        this.#session = session;
        const isAlive = await session.isAlive();
        if (this.isOver) return;
        if (isAlive && session.isOpen) return this.#request(session);
        this.#releaseSession();
      }
    } catch (error) {
      this.end(error);
    }
  }

  #releaseSession(): void {
    const session = this.#session;
    this.#session = undefined;
    session?.release();
  }

  /** True if the server reported that it has not processed the request. */
  #wasRefused(): boolean {
    const stream = this.#stream;
    if (stream === undefined || this.status !== 0) return false;
    // NGHTTP2_REFUSED_STREAM
    return stream.rstCode === 7 || this.#session?.hasRefused(stream) === true;
  }

  #request(session: Session): void {
    const fields: Record<string, string> = { ":method": this.ask.method, ":path": this.#path };
    for (const [name, value] of this.ask.headers) fields[name] = value;
    let stream: Stream;
    try {
      stream = session.request(fields);
    } catch (error) {
      this.end(error);
      return;
    }
    this.#stream = stream;
    this.#heard = session.bytesRead;
    stream[exchangeKey] = this;
    stream.on("error", onError);
    stream.on("response", onResponse);
    stream.on("data", onData);
    stream.on("trailers", onTrailers);
    stream.on("close", onClose);
    stream.end(this.ask.body);
  }

  responded(fields: IncomingHttpHeaders): void {
    this.#hear();
    this.#fields = fields;
    this.answered(Number(fields[":status"]), fields["content-type"] ?? "", firstValue(fields["content-encoding"]));
  }

  override arrived(chunk: Uint8Array): void {
    this.#hear();
    super.arrived(chunk);
  }

  #hear(): void {
    const session = this.#session;
    if (session === undefined) return;
    session.answered();
    this.#heard = session.bytesRead;
  }

  trailed(fields: IncomingHttpHeaders): void {
    this.#trailing = fields;
    // Trailers come last: the body is complete, unless some of it is still unread.
    const stream = this.#stream as Stream;
    if (stream.readableLength === 0 && !stream.isPaused()) this.end(undefined);
  }

  closed(code: number | undefined): void {
    // A server may end a call before it has read the whole request (NO_ERROR); the answer is then complete.
    const isWhole = this.#stream?.readableEnded === true && (code === 0 || code === undefined);
    this.end(isWhole ? undefined : Object.assign(new Error(`stream closed (${code})`), { code: "ECONNRESET" }));
  }

  protected makeHeaders(): Headers {
    return webHeaders(this.#fields);
  }

  protected pauseReading(): void {
    this.#stream?.pause();
  }

  protected resumeReading(): void {
    this.#stream?.resume();
  }

  protected abort(): void {
    // NGHTTP2_CANCEL
    this.#stream?.close(8);
    // A stream that has arrived completely ends when it is read.
    this.#stream?.resume();
  }
}

function onError(this: Stream, error: unknown): void {
  this[exchangeKey]?.fail(error);
}

function onResponse(this: Stream, fields: IncomingHttpHeaders): void {
  this[exchangeKey]?.responded(fields);
}

function onData(this: Stream, chunk: Uint8Array): void {
  this[exchangeKey]?.arrived(chunk);
}

function onTrailers(this: Stream, fields: IncomingHttpHeaders): void {
  this[exchangeKey]?.trailed(fields);
}

function onClose(this: Stream): void {
  this[exchangeKey]?.closed(this.rstCode);
}

/** Tells whether a call timed out. */
function isTimedOut(failure: unknown): boolean {
  if (failure instanceof A2AError) return failure.reason === "DEADLINE_EXCEEDED";
  return membersOf(failure).name === "TimeoutError";
}

/** Returns the error of a request that was not processed (RFC 9113, 8.7). */
function refusedStreamError(cause: unknown): Error {
  return Object.assign(new Error("the request was refused", { cause }), { code: "REFUSED_STREAM" });
}

function webHeaders(fields: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value = ""] of Object.entries(fields)) {
    if (name.startsWith(":")) continue;
    for (const each of Array.isArray(value) ? value : [value]) headers.append(name, each);
  }
  return headers;
}
