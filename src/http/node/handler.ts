import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "../../core/log.js";
import { type Dispatch, reportRejections } from "../dispatch.js";
import { type HttpResponse, isSource } from "../response.js";
import { NodeExchange } from "./exchange.js";
import type { NodeServerRequest, NodeServerResponse } from "./types.js";

/** Called for a request that no route or binding matches, as in Express. */
export type NextHandler = (error?: unknown) => void;

/** A request handler for node:http, node:http2 and frameworks on top of them. */
export type NodeHandler = (request: NodeServerRequest, response: NodeServerResponse, next?: NextHandler) => void;

/** Writes the answers of a dispatch to Node's responses. */
export function createNodeHandler(dispatch: Dispatch, logger: Logger): NodeHandler {
  const begin: NodeHandler = (request, response, next) => {
    const exchange = new NodeExchange(request, response, logger);
    try {
      const answer = dispatch.answer(exchange);
      if (answer === undefined && next !== undefined) return next();
      void reply(exchange, answer ?? dispatch.notFound(exchange), dispatch);
    } catch (error) {
      // An exception in a listener would end the process; here it affects one request.
      exchange.failed(error);
    }
  };
  return (request, response, next) => {
    if (isPipelined(response)) inTurn(request, response, () => begin(request, response, next));
    else begin(request, response, next);
  };
}

async function reply(
  exchange: NodeExchange,
  answer: HttpResponse | Promise<HttpResponse>,
  dispatch: Dispatch,
): Promise<void> {
  try {
    exchange.watch();
  } catch (error) {
    exchange.failed(error);
    // The answer cannot be written any more.
    const { body } = await answer;
    if (isSource(body)) body.cancel();
    return;
  }
  try {
    const response = await answer;
    if (response.rejections !== undefined) reportRejections(dispatch, exchange, response);
    exchange.reply(response);
  } catch (error) {
    exchange.failed(error);
  }
}

/**
 * Maximum number of requests of a connection that begin while an earlier answer is being sent. None begins while the
 * client does not read.
 */
const MAX_AHEAD = 16;

/**
 * Number of waiting requests at which reading from a connection pauses. Node.js has parsed a whole chunk by then, up to
 * some thousand requests.
 */
const MAX_UNREAD = 16;

/**
 * Maximum number of waiting requests. A connection with more in one chunk is closed: a parsed request takes some
 * kilobytes.
 */
const MAX_WAITING = 512;

/** True if a request arrived before the answer to an earlier one on its connection was sent (RFC 9112, 9.3.2). */
function isPipelined(response: NodeServerResponse): response is ServerResponse {
  return response instanceof ServerResponse && response.socket === null;
}

/**
 * Begins a pipelined request when a slot is free, at the latest when its answer can be written. Answers to pipelined
 * requests stay in memory until then, so their number is limited for clients that send many requests and read no
 * answer.
 */
function inTurn(request: NodeServerRequest, response: ServerResponse, begin: () => void): void {
  const socket: Pipelined = request.socket;
  socket[pipelineKey] ??= new Pipeline(socket);
  socket[pipelineKey].add(response, begin);
}

/** Property of a connection with its pipeline. */
const pipelineKey: unique symbol = Symbol("pipeline");

type Pipelined = Socket & { [pipelineKey]?: Pipeline };

/** The pipelined requests of one connection. */
class Pipeline {
  readonly #socket: Socket;
  /** Requests that have not begun, oldest first. */
  readonly #waiting: (() => void)[] = [];
  /** Number of requests that have begun while an earlier answer is being sent. */
  #ahead = 0;
  /** True while reading from the connection is paused. */
  #isHeld = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once("close", () => {
      this.#waiting.length = 0;
    });
    // Node.js resumes a connection with each body that is read. A pause before that resume takes effect would be
    // undone.
    socket.on("resume", () => {
      if (!this.#isHeld) return;
      if (socket.isPaused()) socket.resume();
      else socket.pause();
    });
  }

  add(response: ServerResponse, begin: () => void): void {
    let isAhead = false;
    this.#waiting.push(() => {
      isAhead = response.socket === null;
      if (isAhead) this.#ahead += 1;
      begin();
    });
    // A socket is assigned after all earlier answers have been written.
    response.once("socket", () => {
      if (isAhead) this.#ahead -= 1;
      else this.#waiting.shift()?.();
      this.#proceed();
    });
    this.#proceed();
    if (this.#waiting.length > MAX_WAITING) this.#socket.destroy();
  }

  #proceed(): void {
    const socket = this.#socket;
    while (this.#ahead < MAX_AHEAD && !socket.writableNeedDrain && !socket.destroyed) {
      const begin = this.#waiting.shift();
      if (begin === undefined) break;
      begin();
    }
    if (this.#waiting.length >= MAX_UNREAD) {
      this.#isHeld = true;
      socket.pause();
    } else if (this.#isHeld) {
      this.#isHeld = false;
      socket.resume();
    }
  }
}
