import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import type { Http2SessionManager } from "@connectrpc/connect-node";
import type { HttpClient } from "../platform.js";
import { split } from "./http.js";
import { Incoming } from "./incoming.js";

/** Asks over HTTP/2, on the connection that there is to a server. Answers have their trailers. */
export function http2Client(sessionOf: (origin: string) => Http2SessionManager): HttpClient {
  const origins = new Set<string>();
  return (ask) =>
    new Promise((resolve, reject) => {
      const exchange = new Exchange(ask, resolve, reject);
      try {
        const [origin, path] = split(ask.url, origins);
        void exchange.begin(sessionOf(origin), path);
      } catch (error) {
        exchange.fail(error);
      }
    });
}

/** One request and its answer, on a stream of HTTP/2. */
class Exchange extends Incoming {
  #session: Http2SessionManager | undefined;
  #stream: ClientHttp2Stream | undefined;
  #fields: IncomingHttpHeaders = {};
  #trailers: IncomingHttpHeaders | undefined;
  #isEnded = false;

  async begin(session: Http2SessionManager, path: string): Promise<void> {
    try {
      this.listen();
      const { method, headers, body } = this.ask;
      this.#session = session;
      const stream = await session.request(method, path, Object.fromEntries(headers), {});
      this.#stream = stream;
      // Also of one that nobody wants any more: an error without a listener ends the process.
      stream.on("error", (error) => this.fail(error));
      if (this.isOver) return this.abort();
      stream.on("response", (fields) => this.#onResponse(fields));
      stream.on("data", (chunk: Uint8Array) => {
        session.notifyResponseByteRead(stream);
        this.arrived(chunk);
      });
      stream.on("trailers", (fields) => {
        this.#trailers = fields;
      });
      stream.on("end", () => {
        this.#isEnded = true;
      });
      stream.on("close", () => this.#onClose(stream));
      stream.end(body);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    this.end(error);
  }

  get trailers(): Headers | undefined {
    return this.#trailers === undefined ? undefined : headersOf(this.#trailers);
  }

  #onResponse(fields: IncomingHttpHeaders): void {
    this.#fields = fields;
    if (this.#stream !== undefined) this.#session?.notifyResponseByteRead(this.#stream);
    const status = Number(fields[":status"]);
    this.answered(status, fields["content-type"] ?? "", first(fields["content-encoding"]));
  }

  #onClose({ rstCode }: ClientHttp2Stream): void {
    const isWhole = this.#isEnded && (rstCode === 0 || rstCode === undefined);
    // Servers may end a call before they have read all of the request (NO_ERROR), and then everything was said.
    this.end(isWhole ? undefined : Object.assign(new Error(`stream closed (${rstCode})`), { code: "ECONNRESET" }));
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
