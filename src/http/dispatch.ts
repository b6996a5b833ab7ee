import type { HttpRequest } from "./request.js";
import type { HttpResponse, Refusal } from "./response.js";

/** Finds the route or binding that answers a request. */
export interface Dispatch {
  /** The answer; undefined where no route or binding matches. Then the request is untouched. */
  answer(request: HttpRequest): HttpResponse | Promise<HttpResponse> | undefined;
  /** The answer where there is no other handler to pass the request to. */
  notFound(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
  /** Told of what an answer says was refused before it was a call; undefined: no one asks. */
  readonly refused?: ((request: HttpRequest, refusal: Refusal) => void) | undefined;
}

/** Tells of what was refused: of what is found while the body is made, when it is found. */
export function tellRefusals({ refused }: Dispatch, request: HttpRequest, response: HttpResponse): void {
  if (refused === undefined) return;
  for (const refusal of response.refusals ?? []) refused(request, refusal);
  response.laterRefusals?.((refusal) => refused(request, refusal));
}

/** Answers a path without a binding; undefined for other paths. An answer that takes time never rejects. */
export type StaticRoute = (request: HttpRequest) => HttpResponse | Promise<HttpResponse> | undefined;
