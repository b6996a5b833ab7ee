import type { HttpRequest } from "./request.js";
import type { HttpResponse } from "./response.js";

/** Finds the route or binding that answers a request. */
export interface Dispatch {
  /** The answer; undefined where no route or binding matches. Then the request is untouched. */
  answer(request: HttpRequest): HttpResponse | Promise<HttpResponse> | undefined;
  /** The answer where there is no other handler to pass the request to. */
  notFound(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
}
