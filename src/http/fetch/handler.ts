import type { Logger } from "../../core/log.js";
import type { Dispatch } from "../dispatch.js";
import { FetchExchange, type FetchOrigin } from "./exchange.js";

/**
 * Answers requests of the Fetch API. It never rejects. The request's signal ends the call, and so does leaving the
 * response's body; both are read and written at the pace of the other side.
 *
 * @param origin where it came from, if the runtime tells.
 */
export type FetchHandler = (request: Request, origin?: FetchOrigin) => Promise<Response>;

/** Makes responses of the answers of a dispatch. */
export function createFetchHandler(dispatch: Dispatch, logger: Logger): FetchHandler {
  return async (request, origin = {}) => {
    const exchange = new FetchExchange(request, origin, logger);
    try {
      return exchange.respond(await (dispatch.answer(exchange) ?? dispatch.notFound(exchange)));
    } catch (error) {
      logger.error({ err: error }, "a request could not be answered");
      return exchange.respond({ status: 500 });
    }
  };
}
