import type { Interceptor } from "@connectrpc/connect";
import { clientError, isCut, neverArrived } from "../../client/errors/errors.js";
import { mapStream } from "../../core/map-stream.js";
import { failureOf } from "./failures.js";
import type { Scope } from "./scope.js";

/**
 * Tells of streams that are cut, and ends the run if the interface cannot be reached at the first call. Later calls may be repeated, since the agent was
 * there.
 */
export function firstContact(context: Scope): Interceptor {
  let isReached = false;
  const reached = <T>(value: T): T => {
    isReached = true;
    return value;
  };
  const failed = (error: unknown): unknown => {
    if (!isReached && !context.signal.aborted && neverArrived(clientError(error))) {
      context.end(failureOf(clientError(error), context));
    }
    isReached = true;
    return error;
  };
  const cut = (error: unknown): unknown => {
    if (!context.signal.aborted && isCut(clientError(error))) context.noteCut();
    return failed(error);
  };
  return (next) => async (request) => {
    try {
      const response = await next(request);
      return response.stream
        ? { ...response, message: mapStream(response.message, { item: reached, failed: cut }) }
        : reached(response);
    } catch (error) {
      throw request.stream ? cut(error) : failed(error);
    }
  };
}
