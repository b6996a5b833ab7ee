import type { Logger } from "../../core/log.js";
import { type Dispatch, tellRefusals } from "../dispatch.js";
import { FetchExchange, type FetchOrigin } from "./exchange.js";

/**
 * A handler of requests of the Fetch API. It never rejects. Aborting the request's signal or canceling the response's
 * body ends the call. Both bodies are read and written at the pace of the other side.
 *
 * @param origin where the request came from, if the runtime knows it.
 */
export type FetchHandler = (request: Request, origin?: FetchOrigin) => Promise<Response>;

/** Turns the answers of a dispatch into responses. */
export function createFetchHandler(dispatch: Dispatch, logger: Logger): FetchHandler {
  return async (request, origin = {}) => {
    const exchange = new FetchExchange(request, origin, logger);
    try {
      const response = await (dispatch.answer(exchange) ?? dispatch.notFound(exchange));
      if (response.refusals !== undefined) tellRefusals(dispatch, exchange, response);
      return exchange.respond(response);
    } catch (error) {
      logger.error({ err: error }, "a request could not be answered");
      return exchange.respond({ status: 500 });
    }
  };
}
