import type { Logger } from "../../core/log.js";
import { type Dispatch, tellRefusals } from "../dispatch.js";
import { type HttpResponse, isSource } from "../response.js";
import { NodeExchange } from "./exchange.js";
import { inTurn, isPipelined } from "./pipelining.js";
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
      // Caught here the error affects one request; in the listener of a server it would end the process.
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
    if (response.refusals !== undefined) tellRefusals(dispatch, exchange, response);
    exchange.reply(response);
  } catch (error) {
    exchange.failed(error);
  }
}
