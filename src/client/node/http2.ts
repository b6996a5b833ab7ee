import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { ConnectError } from "@connectrpc/connect";
import type { Http2SessionManager } from "@connectrpc/connect-node";
import { A2AError } from "../../core/error.js";
import type { HttpClient } from "../platform.js";
import { split } from "./http.js";
import { Incoming } from "./incoming.js";

/** Calls that one connection carries at once; servers allow a hundred at least, and let more of them wait. */
const MAX_CALLS = 100;

/** One connection, and the calls that are under way on it. */
interface Session {
  readonly manager: Http2SessionManager;
  calls: number;
}

/** Connections to servers of HTTP/2: one for each, and another one when there are many calls. */
export class Sessions {
  readonly #connect: (origin: string) => Http2SessionManager;
  readonly #servers = new Map<string, Session[]>();
  #isClosed = false;

  constructor(connect: (origin: string) => Http2SessionManager) {
    this.#connect = connect;
  }

  /** One for a call, which counts itself there. @throws A2AError with reason UNAVAILABLE when all is closed */
  to(origin: string): Session {
    if (this.#isClosed) throw new A2AError("UNAVAILABLE", "The client is closed.");
    let sessions = this.#servers.get(origin);
    if (sessions === undefined) {
      sessions = [];
      this.#servers.set(origin, sessions);
    }
    let session = sessions.find(({ calls }) => calls < MAX_CALLS);
    if (session === undefined) {
      session = { manager: this.#connect(origin), calls: 0 };
      sessions.push(session);
    }
    return session;
  }

  close(): void {
    this.#isClosed = true;
    for (const { manager } of [...this.#servers.values()].flat()) manager.abort();
    this.#servers.clear();
  }
}

/** Asks over HTTP/2. Answers have their trailers. */
export function http2Client(sessions: Sessions): HttpClient {
  const origins = new Set<string>();
  return (ask) =>
    new Promise((resolve, reject) => {
      const exchange = new Exchange(ask, resolve, reject);
      try {
        const [origin, path] = split(ask.url, origins);
        exchange.begin(sessions.to(origin), path);
      } catch (error) {
        exchange.fail(error);
      }
    });
}

/** Where a stream has its exchange, so that listeners are the same for all. */
const exchangeKey: unique symbol = Symbol("exchange");

type Stream = ClientHttp2Stream & { [exchangeKey]?: Exchange };

/** One request and its answer, on a stream of HTTP/2. */
class Exchange extends Incoming {
  #session: Session | undefined;
  #stream: Stream | undefined;
  #fields: IncomingHttpHeaders = {};
  #trailing: IncomingHttpHeaders | undefined;
  #trailers: Headers | undefined;
  #isEnded = false;

  begin(session: Session, path: string): void {
    this.listen();
    this.#session = session;
    session.calls++;
    const fields: Record<string, string> = {};
    for (const [name, value] of this.ask.headers) fields[name] = value;
    session.manager.request(this.ask.method, path, fields, {}).then(this.#onStream, this.#onFailure);
  }

  fail(error: unknown): void {
    this.end(error);
  }

  protected override end(failure: unknown): void {
    if (this.#session !== undefined) this.#session.calls--;
    this.#session = undefined;
    super.end(failure);
  }

  get trailers(): Headers | undefined {
    if (this.#trailing !== undefined) this.#trailers ??= headersOf(this.#trailing);
    return this.#trailers;
  }

  field(of: "headers" | "trailers", name: string): string | undefined {
    const value = (of === "headers" ? this.#fields : this.#trailing)?.[name];
    return value === undefined ? undefined : first(value);
  }

  /** There is no connection: what the socket said is the cause of what the library says. */
  readonly #onFailure = (error: unknown): void =>
    this.end(error instanceof ConnectError ? (error.cause ?? error) : error);

  readonly #onStream = (stream: Stream): void => {
    this.#stream = stream;
    stream[exchangeKey] = this;
    // Also of one that nobody wants any more: an error without a listener ends the process.
    stream.on("error", onError);
    if (this.isOver) {
      this.abort();
      return;
    }
    stream.on("response", onResponse);
    stream.on("data", onData);
    stream.on("trailers", onTrailers);
    stream.on("end", onEnd);
    stream.on("close", onClose);
    stream.end(this.ask.body);
  };

  responded(fields: IncomingHttpHeaders): void {
    this.#fields = fields;
    this.answered(Number(fields[":status"]), fields["content-type"] ?? "", first(fields["content-encoding"]));
  }

  override arrived(chunk: Uint8Array): void {
    super.arrived(chunk);
  }

  trailed(fields: IncomingHttpHeaders): void {
    this.#trailing = fields;
  }

  ended(): void {
    this.#isEnded = true;
    // With the trailers everything was said.
    if (this.#trailing !== undefined) this.end(undefined);
  }

  closed(code: number | undefined): void {
    // Servers may end a call before they have read all of the request (NO_ERROR), and then everything was said.
    const isWhole = this.#isEnded && (code === 0 || code === undefined);
    this.end(isWhole ? undefined : Object.assign(new Error(`stream closed (${code})`), { code: "ECONNRESET" }));
  }

  protected makeHeaders(): Headers {
    return headersOf(this.#fields);
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

function onEnd(this: Stream): void {
  this[exchangeKey]?.ended();
}

function onClose(this: Stream): void {
  this[exchangeKey]?.closed(this.rstCode);
}

function headersOf(fields: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value = ""] of Object.entries(fields)) {
    if (name.startsWith(":")) continue;
    for (const each of Array.isArray(value) ? value : [value]) headers.append(name, each);
  }
  return headers;
}

function first(value: string | string[] | undefined): string {
  return typeof value === "string" ? value : (value?.[0] ?? "");
}
