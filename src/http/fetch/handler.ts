import type { Peer } from "../../core/call.js";
import { type Logger, requestFacts } from "../../core/log.js";
import { defined } from "../../core/members.js";
import { BodyCollector } from "../body.js";
import { type Dispatch, reportRejections } from "../dispatch.js";
import { HttpExchange } from "../exchange.js";
import type { InboundBudget } from "../inbound-budget.js";
import type { BodySize, HttpRequest } from "../request.js";
import { type BodySource, type HttpResponse, headOf, isSource } from "../response.js";
import { StreamWriter } from "./writer.js";

/**
 * A handler of requests of the Fetch API. It never rejects. Aborting the request's signal or canceling the response's
 * body ends the call. Both bodies are read and written at the pace of the other side.
 *
 * @param origin of the request, if the runtime knows it.
 */
export type FetchHandler = (request: Request, origin?: FetchOrigin) => Promise<Response>;

/** Statuses of answers without a body, which the Fetch API refuses to make with one. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/** Turns the answers of a dispatch into responses. */
export function createFetchHandler(dispatch: Dispatch, logger: Logger): FetchHandler {
  return async (request, origin = {}) => {
    const exchange = new FetchExchange(request, origin, logger);
    try {
      const response = await (dispatch.answer(exchange) ?? dispatch.notFound(exchange));
      if (response.rejections !== undefined) reportRejections(dispatch, exchange, response);
      return exchange.respond(response);
    } catch (error) {
      logger.error({ err: error, ...requestFacts(exchange) }, "a request could not be answered");
      return exchange.respond({ status: 500 });
    }
  };
}

/** Facts about a request that the runtime knows, such as the remote address. */
export interface FetchOrigin {
  /** Address of the connection's peer. Without it, calls have no address. */
  readonly remoteAddress?: string | undefined;
}

/** The type of a response's body, which differs between versions of the DOM types. */
type ResponseBody = ConstructorParameters<typeof Response>[0];

/** One request of the Fetch API and the one response to it. */
export class FetchExchange extends HttpExchange implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly httpVersion = "";
  readonly baseUrl = "";
  readonly namesSeveralHosts = false;
  readonly hasTrailers = false;
  readonly peer: Peer;
  readonly #request: Request;
  readonly #host: string;
  readonly #logger: Logger;
  #collector: BodyCollector | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #writer: StreamWriter | undefined;
  #isEnded = false;

  constructor(request: Request, { remoteAddress }: FetchOrigin, logger: Logger) {
    super();
    const { pathname, search, host, protocol } = new URL(request.url);
    this.#request = request;
    this.#logger = logger;
    this.#host = host;
    this.method = request.method;
    this.url = pathname + search;
    this.peer = { address: typeof remoteAddress === "string" ? remoteAddress : "", encrypted: protocol === "https:" };
    if (request.signal.aborted) this.#onDisconnect();
    else request.signal.addEventListener("abort", this.#onDisconnect, { once: true });
  }

  get headers(): Headers {
    return new Headers(this.#request.headers);
  }

  header(name: string): string | undefined {
    if (name === ":authority") return this.#request.headers.get("host") ?? this.#host;
    return this.#request.headers.get(name) ?? undefined;
  }

  prepare(): void {
    if (this.#request.bodyUsed) throw new Error("the body of a request was read before its handler saw it");
  }

  readBody(size: BodySize, inboundBudget: InboundBudget): Promise<Buffer> {
    const collector = new BodyCollector(this, size, inboundBudget, inboundBudget.requestTimeoutMs);
    const bytes = collector.bytes();
    this.#collector = collector;
    if (this.canceled) collector.close();
    else void this.#collect(collector);
    return bytes;
  }

  async #collect(collector: BodyCollector): Promise<void> {
    try {
      collector.begin();
      for await (const chunk of this.chunks()) collector.take(chunk);
      collector.end();
    } catch {
      // The body ended early.
      collector.close();
    }
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    if (this.#request.body === null) return;
    const reader = this.#request.body.getReader();
    this.#reader = reader;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  }

  discard(): void {
    const left = this.#reader?.cancel() ?? this.#request.body?.cancel();
    left?.catch(() => {});
  }

  abort(): void {
    this.#writer?.breakOff("failed");
    this.#onDisconnect();
  }

  /** Returns the response. Its body is generated at the pace of its reader, which may cancel it. */
  respond(answer: HttpResponse): Response {
    const { status, body } = answer;
    const head = headOf(answer, this);
    const headers = new Headers();
    for (let i = 0; i < head.length; i += 2) headers.set(defined(head[i]), defined(head[i + 1]));
    const isBodiless = bodiless.has(status);
    if (isSource(body)) {
      const isRead = !this.canceled && this.method !== "HEAD" && !isBodiless;
      if (isRead) return new Response(this.#streamOf(body), { status, headers });
      body.cancel();
    }
    this.#end();
    const isGiven = typeof body === "string" || body instanceof Uint8Array;
    if (!isGiven || isBodiless) return new Response(null, { status, headers });
    headers.set("content-length", `${Buffer.byteLength(body)}`);
    return new Response(this.method === "HEAD" ? null : (body as ResponseBody), { status, headers });
  }

  #streamOf(body: BodySource): ReadableStream<Uint8Array> {
    this.#writer = new StreamWriter(body, {
      ended: (isWhole) => (isWhole ? this.#end() : this.#onDisconnect()),
      failed: (error) => this.#logger.error({ err: error, ...requestFacts(this) }, "a request could not be answered"),
    });
    return this.#writer.stream;
  }

  #end(): void {
    this.#isEnded = true;
    this.#request.signal.removeEventListener("abort", this.#onDisconnect);
  }

  /** Ends the exchange, because the client aborted the signal or canceled the body. */
  readonly #onDisconnect = (): void => {
    if (this.#isEnded || this.canceled) return;
    this.#end();
    this.#collector?.close();
    this.cancel();
    // The rest of the request body is not needed, and it may be endless.
    this.discard();
    this.#writer?.clientGone(this.#request.signal.reason);
  };
}
