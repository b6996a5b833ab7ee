import * as http from "node:http";
import type { Address } from "./driver.js";

/** Header values by name, in any case; an array is sent as repeated headers, null is not sent at all. */
export type HeaderInput = Readonly<Record<string, string | readonly string[] | null>>;

export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers?: HeaderInput | undefined;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A response whose headers have arrived. */
export interface Answer {
  readonly status: number;
  /** By lower-case name; repeated ones are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it arrives. Leaving the loop closes the connection. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body as text. */
  text(): Promise<string>;
}

/** Connections of one client, kept between requests. */
export class HttpClient {
  readonly #agent = new http.Agent({ keepAlive: true });
  readonly #fetch: Address["fetch"];

  /** @param address says where requests go that go through no connection. */
  constructor({ fetch }: Pick<Address, "fetch"> = {}) {
    this.#fetch = fetch;
  }

  /** Sends a request; resolves when the response's headers are here, rejects when the connection fails. */
  exchange(exchange: Exchange): Promise<Answer> {
    const { method, url, headers = {}, body, signal } = exchange;
    if (this.#fetch !== undefined) return this.#fetch(requestOf(exchange)).then(answerOfFetch);
    return new Promise((resolve, reject) => {
      const request = http.request({
        ...placeOf(url),
        method,
        agent: this.#agent,
        headers: sendable(headers, body),
      });
      leaveWith(request, signal);
      request.on("error", reject);
      request.on("response", (response) => {
        // Readers of the body get the error. Without a reader and a listener it would end the process.
        response.on("error", () => {});
        resolve(answerOf(response));
      });
      request.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/**
 * Aborts a request when the signal fires, until its response is over. Node's own option stays active after that: it
 * would destroy the kept connection while it has no listener for errors.
 */
function leaveWith(request: http.ClientRequest, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const leave = (): void => void request.destroy();
  const stay = (): void => signal.removeEventListener("abort", leave);
  signal.addEventListener("abort", leave);
  request.on("response", (response) => response.once("end", stay));
  request.once("close", stay);
  if (signal.aborted) leave();
}

/** The same request for the Fetch API. */
function requestOf({ method, url, headers = {}, body, signal }: Exchange): Request {
  const own = new Headers();
  for (const [name, value] of Object.entries(sendable(headers, body))) {
    for (const one of Array.isArray(value) ? value : [`${value}`]) own.append(name, one);
  }
  return new Request(url, {
    method,
    headers: own,
    body: body ?? null,
    signal: signal ?? null,
  });
}

function answerOfFetch(response: Response): Answer {
  const body = (response.body ?? []) as unknown as AsyncIterable<Uint8Array>;
  return { status: response.status, headers: Object.fromEntries(response.headers), body, text: () => response.text() };
}

/** The parts of a URL, its path as it is written: a parser would take `..` away. */
function placeOf(url: string): http.RequestOptions {
  const { hostname, port, origin } = new URL(url);
  return { hostname, port, path: url.slice(origin.length) };
}

function sendable(headers: HeaderInput, body: string | Uint8Array | undefined): http.OutgoingHttpHeaders {
  const out: http.OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== null) out[name] = typeof value === "string" ? value : [...value];
  }
  if (body !== undefined) out["content-length"] = Buffer.byteLength(body);
  return out;
}

function answerOf(response: http.IncomingMessage): Answer {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  return {
    status: response.statusCode ?? 0,
    headers,
    body: response,
    text: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of response as AsyncIterable<Uint8Array>) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    },
  };
}
