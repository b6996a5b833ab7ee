import type { Logger } from "../../core/log.js";
import type { Dispatch } from "../dispatch.js";
import { type HttpResponse, isSource } from "../response.js";
import { NodeExchange } from "./exchange.js";
import type { NodeServerRequest, NodeServerResponse } from "./types.js";

/** Called when a request is for nobody here, as in Express. */
export type NextHandler = (error?: unknown) => void;

/** A request handler for node:http, node:http2, and what is built on them. */
export type NodeHandler = (request: NodeServerRequest, response: NodeServerResponse, next?: NextHandler) => void;

/** Writes the answers of a dispatch to the responses of Node. */
export function createNodeHandler(dispatch: Dispatch, logger: Logger): NodeHandler {
  return (request, response, next) => {
    const exchange = new NodeExchange(request, response, logger);
    try {
      const answer = dispatch.answer(exchange);
      if (answer === undefined && next !== undefined) return next();
      void reply(exchange, answer ?? dispatch.notFound(exchange), logger);
    } catch (error) {
      // Here it is one request; in the listener of a server it would be the process.
      fail(exchange, error, logger);
    }
  };
}

async function reply(
  exchange: NodeExchange,
  answer: HttpResponse | Promise<HttpResponse>,
  logger: Logger,
): Promise<void> {
  try {
    exchange.watch();
  } catch (error) {
    fail(exchange, error, logger);
    // It is made for nobody now.
    const { body } = await answer;
    if (isSource(body)) body.cancel();
    return;
  }
  try {
    const written = exchange.reply(await answer);
    if (written !== undefined) await written;
  } catch (error) {
    fail(exchange, error, logger);
  }
}

/** Bindings answer their own errors; this is for what they did not foresee. */
function fail(exchange: NodeExchange, error: unknown, logger: Logger): void {
  if (!exchange.canceled) logger.error({ err: error }, "a request could not be answered");
  if (exchange.response.headersSent) exchange.response.destroy();
  else exchange.reply({ status: 500 });
}
