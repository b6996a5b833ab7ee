import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ignore } from "../../core/async.js";
import type { Peer } from "../../core/call.js";
import { type Deferred, defer } from "../../core/event-loop.js";
import { type Logger, requestFacts, silentLogger } from "../../core/log.js";
import { defined } from "../../core/members.js";
import { BodyCollector } from "../body.js";
import { allValues, HttpExchange, valuesIn } from "../exchange.js";
import type { InboundBudget } from "../inbound-budget.js";
import type { BodySize, HttpRequest } from "../request.js";
import { type BodySource, type HeaderPairs, type HttpResponse, headOf, isSource } from "../response.js";
import { bytesOfChunk, bytesOfChunks, mountOf, withParsedBody } from "./mount.js";
import { codingFault } from "./parse-errors.js";
import { peerOf } from "./peer.js";
import type { NodeServerRequest, NodeServerResponse } from "./types.js";
import { closeWithConnection } from "./waiting-answers.js";
import { NodeWriter } from "./writer.js";

/**
 * Maximum number of bytes that are read of an unneeded request body. Most HTTP/1.1 clients read the answer only after
 * sending the whole body. If the connection closed before, they would see a broken connection instead of the answer.
 */
const MAX_DISCARDED = 64 * 1024 * 1024;

/** One HTTP request and the one answer to it, over HTTP/1.1 or HTTP/2. */
export class NodeExchange extends HttpExchange implements HttpRequest {
  readonly response: NodeServerResponse;
  readonly #logger: Logger;
  #request: NodeServerRequest;
  #isEnded = false;
  /** True if the body is read in chunks as they arrive; reading may have stopped before the end. */
  #isConversation = false;
  /** Ends an answer that waits for the rest of the request body. Set while that rest is read and dropped. */
  #endLate: (() => void) | undefined;

  /** @param logger receives errors that no promise reports */
  constructor(request: NodeServerRequest, response: NodeServerResponse, logger: Logger = silentLogger) {
    super();
    this.#logger = logger;
    this.#request = request;
    this.response = response;
  }

  /** Listens for the end of the connection. Called in the tick in which the request is accepted. */
  watch(): void {
    const { response } = this;
    const open: Open = response;
    open[exchangeKey] = this;
    response.on("close", onConnectionClose);
    closeWithConnection(response);
    // A broken connection emits "close" as well, and an error without a listener would end the process.
    response.on("error", ignore);
    // The client may have left before a framework passed its request on.
    if ("stream" in response ? response.stream.destroyed : response.destroyed) this.closed();
  }

  prepare(): void {
    if (this.#request.readableDidRead) this.#request = withParsedBody(this.#request);
  }

  get method(): string {
    return this.#request.method ?? "";
  }

  get url(): string {
    return mountOf(this.#request).url;
  }

  get hasTrailers(): boolean {
    return true;
  }

  get httpVersion(): string {
    return this.#request.httpVersion;
  }

  /** The part of the path that a framework has removed. */
  get baseUrl(): string {
    return mountOf(this.#request).path;
  }

  get peer(): Peer {
    return peerOf(this.#request);
  }

  /** Node.js keeps only the first `Host`, but a proxy in between may have used another one (RFC 9112, 3.2). */
  get namesSeveralHosts(): boolean {
    const { httpVersionMajor, rawHeaders } = this.#request;
    return httpVersionMajor === 1 && valuesIn(rawHeaders, "host").length > 1;
  }

  get headers(): Headers {
    const headers = new Headers();
    for (const [name, value] of Object.entries(this.#request.headers)) {
      if (value === undefined || name.startsWith(":")) continue;
      for (const each of Array.isArray(value) ? value : [value]) headers.append(name, each);
    }
    const authorization = this.header("authorization");
    if (authorization !== undefined) headers.set("authorization", authorization);
    return headers;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    if (name === "authorization" && value !== undefined) return allValues(this.#request.rawHeaders, name);
    if (typeof value === "string") return value;
    if (Array.isArray(value)) return value.join(", ");
    return name === ":authority" ? this.#request.headers.host : undefined;
  }

  readBody(size: BodySize, inboundBudget: InboundBudget): Promise<Buffer> {
    const fault = codingFault(this.#request);
    if (fault !== undefined) {
      this.discard();
      return Promise.reject(fault);
    }
    const collector = new BodyCollector(this, size, inboundBudget);
    const bytes = collector.bytes();
    const request: CollectedRequest = this.#request;
    request[collectorKey] = collector;
    // The listeners remain after the body: removing them would cost more than the rest of this function.
    request.on("data", onRequestData).on("end", onEnd).on("close", onRequestClose).on("error", onRequestClose);
    if (request.destroyed) collector.close();
    else collector.begin();
    return bytes;
  }

  chunks(): AsyncIterable<Uint8Array> {
    this.#isConversation = true;
    return bytesOfChunks(this.#request);
  }

  discard(): void {
    const request = this.#request;
    const { response } = this;
    let left = MAX_DISCARDED;
    this.#endLate ??= ignore;
    request.on("error", ignore);
    request.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left > 0) return;
      this.#endLate?.();
      if (response.writableFinished) request.destroy();
      else response.once("finish", () => request.destroy());
      left = Number.POSITIVE_INFINITY;
    });
  }

  /**
   * Writes the answer, unless the client has disconnected. Complete answers of one event-loop turn are written together
   * at its end: each write wakes the other side, which is expensive if it goes to sleep again before the next one.
   */
  reply(answer: HttpResponse): void {
    const { response } = this;
    const { body } = answer;
    const isOver = this.canceled || this.#isEnded || response.headersSent;
    if (isSource(body)) {
      if (!isOver && this.method !== "HEAD") return this.#write(answer, body);
      body.cancel();
    }
    if (isOver) return;
    const head = this.#head(answer);
    this.#isEnded = true;
    if (typeof body === "string" || body instanceof Uint8Array) {
      head.push("content-length", `${Buffer.byteLength(body)}`);
      defer(new QueuedResponse(this, answer.status, head, this.method === "HEAD" ? undefined : body));
    } else defer(new QueuedResponse(this, answer.status, head, undefined));
  }

  /**
   * Ends an answer with its body. Node.js closes a connection without keep-alive as soon as its answer has ended. A
   * client that is still sending would lose the answer, so the end waits until the request body was received.
   */
  end(body: string | Uint8Array): void {
    const { response } = this;
    const request = this.#request;
    const isRead = this.#endLate === undefined || request.complete;
    if (isRead || !(response instanceof ServerResponse) || response.shouldKeepAlive) {
      endWith(response, body);
      return;
    }
    response.write(body);
    this.#endLate = () => void response.end();
    request.on("end", this.#endLate).on("close", this.#endLate);
  }

  /** Ends the request after an unexpected error. Bindings answer their own errors. */
  failed(error: unknown): void {
    if (!this.canceled) this.#logger.error({ err: error, ...requestFacts(this) }, "a request could not be answered");
    if (this.response.headersSent) this.response.destroy();
    else this.reply({ status: 500 });
  }

  /** Aborts the answer after an error in a timer or a tick, so that it affects only this request. */
  fail(error: unknown): void {
    this.#logger.error({ err: error, ...requestFacts(this) }, "an answer could not be written");
    this.response.destroy();
  }

  /** Writes a generated body. It is not async, because a suspended function would cost half a kilobyte per stream. */
  #write(answer: HttpResponse, body: BodySource): void {
    const { response } = this;
    const { trailers } = answer;
    try {
      writeHead(response, answer.status, this.#head(answer));
    } catch (error) {
      body.cancel();
      throw error;
    }
    const corked = response instanceof ServerResponse ? flushHead(response) : undefined;
    const written = body.writeTo(new NodeWriter(response));
    if (corked !== undefined) process.nextTick(uncork, corked);
    written.then(
      (isWhole) => this.#written(isWhole, trailers),
      (error) => {
        this.#discardRest();
        this.failed(error);
      },
    );
  }

  #written(isWhole: boolean, trailers: HeaderPairs | undefined): void {
    const { response } = this;
    try {
      if (!isWhole) return;
      this.#isEnded = true;
      if (trailers !== undefined) response.addTrailers(Object.fromEntries(trailers));
      response.end();
    } catch (error) {
      this.failed(error);
    } finally {
      this.#discardRest();
    }
  }

  /** Drops the unread rest of a request body, which would block the next request on the connection. */
  #discardRest(): void {
    const request = this.#request;
    if (!this.#isConversation || request.readableEnded || request.destroyed) return;
    request.removeAllListeners("readable");
    this.discard();
    request.resume();
  }

  #head(answer: HttpResponse): string[] {
    const head = headOf(answer, this);
    const at = head.indexOf("vary");
    // Middleware around this handler may have set `Vary` as well.
    const before = at < 0 ? undefined : this.response.getHeader("vary");
    if (before !== undefined) head[at + 1] = `${String(before)}, ${head[at + 1]}`;
    return head;
  }

  abort(): void {
    if (!this.#isEnded) new NodeWriter(this.response).breakOff("failed");
  }

  /** Called when the response or its connection closes. */
  closed(): void {
    if (this.#isEnded) return;
    this.cancel();
  }
}

/** Property of a request with its body collector, so that listeners find it without a closure. */
const collectorKey: unique symbol = Symbol("collector");

type CollectedRequest = NodeServerRequest & { [collectorKey]?: BodyCollector | undefined };

function onRequestData(this: CollectedRequest, chunk: Buffer | string): void {
  this[collectorKey]?.take(bytesOfChunk(this, chunk));
}

function onEnd(this: CollectedRequest): void {
  this[collectorKey]?.end();
  // An answer may stream for days, and the collector is not needed after the request.
  this[collectorKey] = undefined;
}

function onRequestClose(this: CollectedRequest): void {
  this[collectorKey]?.close();
}

/** Property of a response with its exchange, for the same reason. */
const exchangeKey: unique symbol = Symbol("exchange");

type Open = NodeServerResponse & { [exchangeKey]?: NodeExchange };

function onConnectionClose(this: Open): void {
  this[exchangeKey]?.closed();
}

/** An answer that waits for the end of the event-loop turn. */
class QueuedResponse implements Deferred {
  readonly #exchange: NodeExchange;
  readonly #status: number;
  readonly #head: string[];
  readonly #body: string | Uint8Array | undefined;

  constructor(exchange: NodeExchange, status: number, head: string[], body: string | Uint8Array | undefined) {
    this.#exchange = exchange;
    this.#status = status;
    this.#head = head;
    this.#body = body;
  }

  run(): void {
    const { response } = this.#exchange;
    if (response.headersSent || response.destroyed) return;
    if (this.#body !== undefined) {
      writeHead(response, this.#status, this.#head);
      this.#exchange.end(this.#body);
      return;
    }
    // Ending a response before its headers are sent makes Node.js add END_STREAM, which gRPC needs, or a length.
    for (let i = 0; i < this.#head.length; i += 2) {
      response.setHeader(defined(this.#head[i]), defined(this.#head[i + 1]));
    }
    response.statusCode = this.#status;
    response.end();
  }

  failed(error: unknown): void {
    // No promise reports this error. Node.js rejected the answer, so the connection is closed.
    this.#exchange.fail(error);
  }
}

function writeHead(response: NodeServerResponse, status: number, head: string[]): void {
  // Middleware that has replaced this function may not accept a list.
  const plain = response instanceof ServerResponse && !Object.hasOwn(response, "writeHead");
  if (plain) response.writeHead(status, head);
  else response.writeHead(status, pairsOf(head));
}

/**
 * Ends an answer with its body. `end(body)` makes two writes, of which the second is empty, and the connection joins
 * them at a cost. A text that was written before goes out with the headers in one.
 */
function endWith(response: NodeServerResponse, body: string | Uint8Array): void {
  const { socket } = response;
  if (typeof body !== "string" || body === "" || socket === null || !isUnwrapped(response)) {
    response.end(body);
    return;
  }
  socket.cork();
  response.write(body);
  socket.uncork();
  response.end();
}

/** True for a response of node:http whose methods no middleware has replaced. */
function isUnwrapped(response: NodeServerResponse): response is ServerResponse {
  return response instanceof ServerResponse && !Object.hasOwn(response, "write") && !Object.hasOwn(response, "end");
}

/**
 * Flushes the headers separately. If they were joined with the first chunk of the body, Node.js would keep all parts of
 * that text in memory until the end of the answer.
 *
 * @returns the connection, corked so that headers and first chunk leave in one write
 */
function flushHead(response: ServerResponse): Socket | undefined {
  const { socket } = response;
  if (socket === null) return undefined;
  socket.cork();
  response.flushHeaders();
  return socket;
}

function uncork(socket: Socket): void {
  socket.uncork();
}

/**
 * Converts the headers to an object, which every version of Node.js accepts for HTTP/2, and middleware for HTTP/1.1.
 */
function pairsOf(head: readonly string[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (let i = 0; i < head.length; i += 2) pairs[defined(head[i])] = defined(head[i + 1]);
  return pairs;
}
