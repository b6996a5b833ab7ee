import type { Dispatch } from "../http/dispatch.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import type { RefusalLog } from "../service/interceptors/access-log.js";

/** What the lines of refused requests are made with. */
export interface RefusalLogging {
  readonly log: RefusalLog;
  /** Address of a request's client, also where a trusted proxy stands before it. */
  readonly addressOf: (request: HttpRequest) => string;
}

/**
 * Logs what a dispatch answers to requests that were refused before they were a call. It stands around the dispatch only where
 * there is an access log.
 */
export function withRefusals(dispatch: Dispatch, { log, addressOf }: RefusalLogging): Dispatch {
  const watched = (
    request: HttpRequest,
    answer: (request: HttpRequest) => HttpResponse | Promise<HttpResponse> | undefined,
  ) => {
    const began = performance.now();
    const note = (response: HttpResponse): HttpResponse => {
      const { refusals = [], status } = response;
      for (const { binding, method, reason } of refusals) {
        const ms = Math.round(performance.now() - began);
        log({ binding, method, code: reason, status, ms, path: request.target.path, peer: addressOf(request) });
      }
      return response;
    };
    const answered = answer(request);
    return answered instanceof Promise ? answered.then(note) : answered && note(answered);
  };
  return {
    answer: (request) => watched(request, dispatch.answer),
    notFound: (request) => watched(request, dispatch.notFound) as HttpResponse | Promise<HttpResponse>,
  };
}
