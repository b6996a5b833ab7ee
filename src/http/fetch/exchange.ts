import type { Peer } from "../../core/call.js";
import { callAll } from "../../core/call-all.js";
import type { Logger } from "../../core/log.js";
import type { Arrivals } from "../arrivals.js";
import { BodyCollector, type BodySize } from "../body.js";
import type { HttpRequest, RequestTarget } from "../request.js";
import { type BodySource, type HttpResponse, headOf, isSource } from "../response.js";
import { StreamWriter } from "./writer.js";

/** What a runtime knows about a request besides the request itself. */
export interface FetchOrigin {
  /** Address of the other end of the connection, where the runtime knows it. Otherwise calls have no address. */
  readonly remoteAddress?: string | undefined;
}

/** The type of a response's body, which differs between versions of the DOM types. */
type ResponseBody = ConstructorParameters<typeof Response>[0];

/** The target of a request that has not been dispatched yet. */
const undispatched: RequestTarget = { path: "*", query: "", headers: [] };

/** One request of the Fetch API and the one response to it. */
export class FetchExchange implements HttpRequest {
  target: RequestTarget = undispatched;
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
  readonly #callbacks = new Set<() => void>();
  #controller: AbortController | undefined;
  #collector: BodyCollector | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #writer: StreamWriter | undefined;
  #isEnded = false;
  #isCanceled = false;

  constructor(request: Request, { remoteAddress }: FetchOrigin, logger: Logger) {
    const { pathname, search, host, protocol } = new URL(request.url);
    this.#request = request;
    this.#logger = logger;
    this.#host = host;
    this.method = request.method;
    this.url = pathname + search;
    this.peer = { address: typeof remoteAddress === "string" ? remoteAddress : "", encrypted: protocol === "https:" };
    if (request.signal.aborted) this.#cancel();
    else request.signal.addEventListener("abort", this.#cancel, { once: true });
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isCanceled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** Whether the client went away before the answer was finished: it aborted its signal or canceled the body. */
  get canceled(): boolean {
    return this.#isCanceled;
  }

  onCancel(callback: () => void): () => void {
    if (this.#isCanceled) callback();
    else this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
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

  readBody(size: BodySize, arrivals: Arrivals): Promise<Buffer> {
    const collector = new BodyCollector(this, size, arrivals);
    const bytes = collector.bytes();
    this.#collector = collector;
    if (this.#isCanceled) collector.close();
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

  /** The response. Its body is made at the pace of its reader, who may cancel it. */
  respond(answer: HttpResponse): Response {
    const { status, body } = answer;
    const head = headOf(answer, this.target.headers);
    const headers = new Headers();
    for (let i = 0; i < head.length; i += 2) headers.set(head[i] as string, head[i + 1] as string);
    if (isSource(body)) {
      if (!this.#isCanceled && this.method !== "HEAD") return new Response(this.#streamOf(body), { status, headers });
      body.cancel();
    }
    this.#end();
    if (typeof body !== "string" && !(body instanceof Uint8Array)) return new Response(null, { status, headers });
    headers.set("content-length", `${Buffer.byteLength(body)}`);
    return new Response(this.method === "HEAD" ? null : (body as ResponseBody), { status, headers });
  }

  #streamOf(body: BodySource): ReadableStream<Uint8Array> {
    this.#writer = new StreamWriter(body, {
      ended: (isWhole) => (isWhole ? this.#end() : this.#cancel()),
      failed: (error) => this.#logger.error({ err: error }, "a request could not be answered"),
    });
    return this.#writer.stream;
  }

  #end(): void {
    this.#isEnded = true;
    this.#request.signal.removeEventListener("abort", this.#cancel);
  }

  /** The client has gone away. */
  readonly #cancel = (): void => {
    if (this.#isEnded || this.#isCanceled) return;
    this.#isCanceled = true;
    this.#end();
    this.#collector?.close();
    this.#controller?.abort();
    callAll(this.#callbacks);
    this.#writer?.clientGone();
  };
}
