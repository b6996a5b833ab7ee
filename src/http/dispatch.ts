import type { HttpRequest } from "./request.js";
import type { HttpResponse, Rejection } from "./response.js";

/** Finds the route or binding that answers a request. */
export interface Dispatch {
  /** Returns the answer; undefined if no route or binding matches. The request is untouched then. */
  answer(request: HttpRequest): HttpResponse | Promise<HttpResponse> | undefined;
  /** Returns the answer to a request that matches nothing and cannot be passed to another handler. */
  notFound(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
  /**
   * Receives each rejection of an answer: requests refused before they became calls. Undefined if neither log nor audit
   * needs them.
   */
  readonly onRejection?: ((request: HttpRequest, rejection: Rejection) => void) | undefined;
}

/** Reports the rejections of an answer. Those found while the body is generated are reported when they are found. */
export function reportRejections({ onRejection }: Dispatch, request: HttpRequest, response: HttpResponse): void {
  if (onRejection === undefined) return;
  for (const rejection of response.rejections ?? []) onRejection(request, rejection);
  response.laterRejections?.((rejection) => onRejection(request, rejection));
}

/** Answers a path without a binding; undefined for other paths. A returned promise never rejects. */
export type StaticRoute = (request: HttpRequest) => HttpResponse | Promise<HttpResponse> | undefined;
