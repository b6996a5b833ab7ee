import { type Audit, auditEventOf } from "../audit/audit.js";
import type { Dispatch } from "../http/dispatch.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse, Refusal } from "../http/response.js";
import type { RefusalLog } from "../service/interceptors/access-log.js";
import type { Proxies } from "./proxies.js";

/**
 * Logs what a dispatch answers to requests that were refused before they were a call. It stands around the dispatch only where
 * there is an access log.
 */
export function withRefusals(dispatch: Dispatch, log: RefusalLog): Dispatch {
  const watched = (
    request: HttpRequest,
    answer: (request: HttpRequest) => HttpResponse | Promise<HttpResponse> | undefined,
  ) => {
    const began = performance.now();
    const note = (response: HttpResponse): HttpResponse => {
      const { refusals = [], status } = response;
      const line = ({ binding, method, reason }: Refusal): void => {
        const ms = Math.round(performance.now() - began);
        log({ binding, method, code: reason, status, ms, path: request.target.path, from: request });
      };
      for (const refusal of refusals) line(refusal);
      response.laterRefusals?.(line);
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

/** Tells the audit log of what was refused before it was a call. */
export function refusalAudit(
  audit: Audit,
  { addressOf }: Pick<Proxies, "addressOf">,
): NonNullable<Dispatch["refused"]> {
  return (request, { binding, method, reason, limit }) => {
    const event = reason === undefined ? undefined : auditEventOf(reason);
    if (event !== undefined) audit.record({ event, address: addressOf(request), binding, method, reason, limit });
  };
}
