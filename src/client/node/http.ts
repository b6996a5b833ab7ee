import type { Dispatcher } from "undici";
import { withoutSecrets } from "../../core/net.js";
import type { Connection, ConnectionPools, Sending } from "../../outgoing/connections.js";
import type { HttpClient } from "../platform.js";
import { IncomingAnswer, wrong } from "./incoming.js";

/** Maximum number of 1xx responses before the final one. */
const MAX_INTERIM = 16;

/** Creates an HTTP/1.1 client. */
export function undiciClient(connections: ConnectionPools): HttpClient {
  const origins = new Set<string>();
  return (ask) =>
    new Promise((resolve, reject) => {
      const exchange = new Http1Request(ask, resolve, reject);
      try {
        exchange.begin(connections, split(ask.url, origins));
      } catch (error) {
        exchange.onResponseError(undefined, error as Error);
      }
    });
}

/** Maximum number of origins remembered as well-formed. */
const MAX_ORIGINS = 256;

/** Splits a URL. Parsing costs more than the rest of this function, so a URL with a known origin is only cut. */
export function split(url: string, origins: Set<string>): [origin: string, path: string] {
  const slash = url.indexOf("/", 8);
  const begin = slash < 0 ? url : url.slice(0, slash);
  if (origins.has(begin)) return [begin, slash < 0 ? "/" : url.slice(slash)];
  const { origin, pathname, search } = new URL(url);
  if (!/^https?:/.test(origin)) throw new TypeError(`${withoutSecrets(url)} is not an HTTP URL`);
  if (origin === begin && origins.size < MAX_ORIGINS) origins.add(begin);
  return [origin, pathname + search];
}

type NodeHeaders = Record<string, string | string[] | undefined>;

/** One request and its answer, with undici's callbacks. */
class Http1Request extends IncomingAnswer implements Dispatcher.DispatchHandler, Sending {
  #path = "";
  #connection: Connection | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #fields: NodeHeaders = {};
  #interim = 0;

  begin(connections: ConnectionPools, [origin, path]: [origin: string, path: string]): void {
    this.listen();
    this.#path = path;
    connections.send(origin, this);
  }

  sendOn(connection: Connection): void {
    this.#connection = connection;
    // Many servers close a connection after an answer without announcing it. After one event-loop turn undici has read
    // the close and sends the request over another connection.
    if (connection.isFresh) setImmediate(() => this.#dispatchLater(connection));
    else this.#dispatch(connection);
  }

  refuse(error: Error): void {
    this.onResponseError(undefined, error);
  }

  #dispatch(connection: Connection): void {
    const { headers, body } = this.ask;
    const [method, path] = [this.ask.method as Dispatcher.HttpMethod, this.#path];
    connection.dispatch(body === undefined ? { path, method, headers } : { path, method, headers, body }, this);
  }

  #dispatchLater(connection: Connection): void {
    if (this.isOver) return this.#release(true);
    try {
      this.#dispatch(connection);
    } catch (error) {
      this.onResponseError(undefined, error as Error);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.isOver) this.abort();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, fields: NodeHeaders): void {
    if (status < 200) {
      this.#interim++;
      if (this.#interim > MAX_INTERIM) this.breakOff(wrong(`More than ${MAX_INTERIM} interim answers came.`));
      return;
    }
    this.#fields = fields;
    this.answered(status, firstValue(fields["content-type"]), firstValue(fields["content-encoding"]));
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.arrived(chunk);
  }

  onResponseEnd(): void {
    // After a server error, servers such as uvicorn close the connection without announcing it: the next request would
    // be lost.
    this.#release(this.status < 500);
    this.end(undefined);
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#release(false);
    this.end(error);
  }

  /** Returns the connection. */
  #release(isWhole: boolean): void {
    this.#controller = undefined;
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.release(isWhole);
  }

  protected makeHeaders(): Headers {
    const headers = new Headers();
    for (const [name, value = ""] of Object.entries(this.#fields)) {
      for (const each of Array.isArray(value) ? value : [value]) headers.append(name, each);
    }
    return headers;
  }

  protected pauseReading(): void {
    this.#controller?.pause();
  }

  protected resumeReading(): void {
    this.#controller?.resume();
  }

  protected abort(): void {
    this.#controller?.abort(new Error("the response is no longer needed"));
  }
}

/** Returns the first value of a header field. */
export function firstValue(value: string | string[] | undefined): string {
  return typeof value === "string" ? value : (value?.[0] ?? "");
}
