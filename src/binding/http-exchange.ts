import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Call, type CallStart, type Peer } from "../core/call.js";
import { callAll } from "../core/call-all.js";
import type { Departure } from "../core/departure.js";
import { type NextRound, nextRound } from "../core/next-round.js";
import { VERSION_PARAMETER, versionFromQuery } from "../wire/service-params.js";
import type { NodeServerRequest, NodeServerResponse, Target } from "./binding.js";
import { type PieceTarget, writePieces } from "./piecewise.js";

/** Header names and values, in the order in which they win over each other: the last one does. */
export type Headers = Iterable<readonly [name: string, value: string]>;

/** An answer that is known as a whole. */
export interface WholeReply {
  readonly status: number;
  /** Media type of the body. Undefined: there is no body. */
  readonly type?: string | undefined;
  readonly body?: string | Uint8Array;
  readonly headers?: Headers;
}

/** An answer that is written piece by piece, without saying first how long it is. */
export interface LargeReply {
  readonly status: number;
  readonly type: string;
  readonly pieces: Iterable<Uint8Array | string>;
  readonly headers: Headers;
}

/** What may stand in a header. */
const legalName = /^[\w!#$%&'*+.^`|~-]+$/;
const legalValue = /^[\t -~\x80-\xff]*$/;

/** One HTTP request and the one answer to it, over HTTP/1.1 or HTTP/2. */
export class HttpExchange implements Departure {
  readonly request: NodeServerRequest;
  readonly response: NodeServerResponse;
  readonly #target: Target;
  #controller: AbortController | undefined;
  #ended = false;
  #gone = false;
  #callbacks: Set<() => void> | undefined;

  constructor(request: NodeServerRequest, response: NodeServerResponse, target: Target) {
    this.request = request;
    this.response = response;
    this.#target = target;
    (response as Open)[exchangeKey] = this;
    response.on("close", closed);
    // Behind another request on its connection a response has no socket yet, and never closes when that goes away.
    if (response instanceof ServerResponse && response.socket === null) waitBehind(request.socket, this);
    // A connection that breaks ends in "close" as well, and an error without a listener would end the process.
    response.on("error", ignore);
  }

  /** Fires when the client goes away before the answer is finished. Made when it is asked for: many calls never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#gone) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** Whether the client went away before the answer was finished. */
  get gone(): boolean {
    return this.#gone;
  }

  onGone(callback: () => void): () => void {
    if (this.#gone) callback();
    else {
      this.#callbacks ??= new Set();
      this.#callbacks.add(callback);
    }
    return () => this.#callbacks?.delete(callback);
  }

  /**
   * A header by its lower-case name, repeated ones joined by commas. The protocol version may come as a request
   * parameter instead (specification 3.6.1); the header wins.
   */
  header(name: string): string | undefined {
    const value = this.request.headers[name];
    if (typeof value === "string") return value;
    if (Array.isArray(value)) return value.join(", ");
    // What HTTP/2 calls the host, so that nobody who asks for it has to know which version this is.
    if (name === ":authority") return this.request.headers.host;
    return name === VERSION_PARAMETER ? versionFromQuery(this.#target.query) : undefined;
  }

  /** Path that the handler is mounted below which the request came through, where that is known. */
  get mount(): string | undefined {
    return this.#target.mount;
  }

  /** A call that arrived with this request. */
  call(binding: string, impliedVersion?: string): Call {
    return new Call(new HttpCallStart(this, binding, impliedVersion));
  }

  /**
   * Sends the whole answer; does nothing for a client that is gone. Answers that come up in one round of the event
   * loop leave one right after the other at its end: each write wakes the other side, which is dear where it sleeps
   * again before the next one.
   */
  reply({ status, type, body = "", headers = [] }: WholeReply): void {
    if (this.#gone || this.#ended || this.response.headersSent) return;
    const head = this.#head(headers);
    if (type !== undefined) {
      put(head, "content-type", type);
      head.push("content-length", `${Buffer.byteLength(body)}`);
    }
    this.#ended = true;
    nextRound(new LateReply(this, status, head, body));
  }

  /** Breaks the answer off because of a fault that nobody waits for, as in a timer: it concerns this request alone. */
  fail(error: unknown): void {
    this.#target.logger?.error({ err: error }, "an answer could not be written");
    this.response.destroy();
  }

  /** Begins an answer whose body comes piece by piece. */
  begin(status: number, headers: Headers): void {
    writeHead(this.response, status, this.#head(headers));
  }

  /**
   * Sends an answer that is large, at the pace of the client.
   * @param stalledMs see `writePieces`
   */
  async replyInPieces(answer: LargeReply, stalledMs: number): Promise<void> {
    if (this.#gone || this.#ended || this.response.headersSent) return;
    this.begin(answer.status, [...answer.headers, ["content-type", answer.type]]);
    const wanted = this.request.method !== "HEAD";
    if (!wanted || (await writePieces(this.response as PieceTarget, answer.pieces, stalledMs))) this.end();
  }

  /** Writes a piece of an answer that was begun; false when the connection takes no more for the moment. */
  write(piece: string): boolean {
    // Both classes have this form of write(), among overloads that the type checker cannot unite.
    return (this.response as ServerResponse).write(piece);
  }

  /** Ends an answer that was begun. */
  end(): void {
    this.#ended = true;
    try {
      this.response.end();
    } catch (error) {
      // Its head is away: nothing else can be said.
      this.fail(error);
    }
  }

  /** Names and values in turns: Node writes those of an array as they are, at half the cost of an object's. */
  #head(headers: Headers): string[] {
    const head = [...this.#target.headers];
    for (const [name, value] of headers) {
      // Node throws at anything else.
      if (legalName.test(name) && legalValue.test(value)) put(head, name, value);
    }
    return head;
  }

  /** The response is over. */
  closed(): void {
    (this.request.socket as Queued | null)?.[behindKey]?.delete(this);
    if (this.#ended) return;
    this.#gone = true;
    this.#controller?.abort();
    if (this.#callbacks !== undefined) callAll(this.#callbacks);
  }
}

/** Where a response keeps its exchange: listeners without a closure of their own find it there. */
const exchangeKey: unique symbol = Symbol("exchange");

type Open = NodeServerResponse & { [exchangeKey]?: HttpExchange };

function closed(this: Open): void {
  this[exchangeKey]?.closed();
}

/** Where a connection keeps the exchanges that were sent ahead of their turn (RFC 9112, 9.3.2). */
const behindKey: unique symbol = Symbol("behind");

type Queued = Socket & { [behindKey]?: Set<HttpExchange> };

function waitBehind(socket: Queued, exchange: HttpExchange): void {
  if (socket[behindKey] === undefined) {
    socket[behindKey] = new Set();
    socket.once("close", gone);
  }
  socket[behindKey].add(exchange);
}

function gone(this: Queued): void {
  for (const exchange of this[behindKey] ?? []) exchange.closed();
}

function ignore(): void {}

/** An answer that waits for the end of the round. */
class LateReply implements NextRound {
  readonly #exchange: HttpExchange;
  readonly #status: number;
  readonly #head: string[];
  readonly #body: string | Uint8Array;

  constructor(exchange: HttpExchange, status: number, head: string[], body: string | Uint8Array) {
    this.#exchange = exchange;
    this.#status = status;
    this.#head = head;
    this.#body = body;
  }

  run(): void {
    const { response } = this.#exchange;
    if (response.headersSent || response.destroyed) return;
    writeHead(response, this.#status, this.#head);
    response.end(this.#body);
  }

  failed(error: unknown): void {
    // Nobody waits for this any more; whatever Node does not take, no client can be told.
    this.#exchange.fail(error);
  }
}

/** Sets a header in a list of names and values. */
function put(head: string[], name: string, value: string): void {
  for (let i = 0; i < head.length; i += 2) {
    if (head[i] === name) {
      head[i + 1] = value;
      return;
    }
  }
  head.push(name, value);
}

function writeHead(response: NodeServerResponse, status: number, head: string[]): void {
  // Middleware that has put a function of its own in the place of this one may not know what to make of a list.
  const plain = response instanceof ServerResponse && !Object.hasOwn(response, "writeHead");
  if (plain) response.writeHead(status, head);
  else response.writeHead(status, pairsOf(head));
}

/** The same as an object, which is what every version of Node takes for HTTP/2, and middleware for HTTP/1.1. */
function pairsOf(head: readonly string[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (let i = 0; i < head.length; i += 2) pairs[head[i] as string] = head[i + 1] as string;
  return pairs;
}

/** What HTTP tells about a call; the signal costs something only when it is asked for. */
class HttpCallStart implements CallStart {
  readonly binding: string;
  readonly peer: Peer;
  readonly impliedVersion?: string;
  readonly #exchange: HttpExchange;

  constructor(exchange: HttpExchange, binding: string, impliedVersion: string | undefined) {
    this.#exchange = exchange;
    this.binding = binding;
    this.peer = peerOf(exchange.request);
    if (impliedVersion !== undefined) this.impliedVersion = impliedVersion;
  }

  header(name: string): string | undefined {
    return this.#exchange.header(name);
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get mount(): string | undefined {
    return this.#exchange.mount;
  }

  get departure(): Departure {
    return this.#exchange;
  }
}

/** Where a connection keeps its other end: it is asked for with every call, and Node asks the system. */
const peerKey: unique symbol = Symbol("peer");

/** The other end of the connection. An IPv4 address in IPv6 dress is given as IPv4. */
export function peerOf(request: NodeServerRequest): Peer {
  const socket: Socket & { [peerKey]?: Peer } = request.socket;
  socket[peerKey] ??= readPeer(socket);
  return socket[peerKey];
}

function readPeer(socket: Socket): Peer {
  const address = socket.remoteAddress ?? "";
  return Object.freeze({
    address: address.startsWith("::ffff:") ? address.slice(7) : address,
    encrypted: "encrypted" in socket && socket.encrypted === true,
  });
}
