import type { HttpRequest } from "./request.js";
import type { HttpResponse } from "./response.js";

/** Finds who answers requests. */
export interface Dispatch {
  /** The answer, or undefined where the request is for nobody here; then nothing was done with it. */
  answer(request: HttpRequest): HttpResponse | Promise<HttpResponse> | undefined;
  /** The answer where there is nobody else to ask. */
  notFound(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
}
