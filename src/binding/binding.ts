import type { DescService } from "@bufbuild/protobuf";
import type { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { Arrivals } from "../http/arrivals.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import type { Invoke } from "../service/invoke.js";

/**
 * A binding turns what arrives in its wire format into a call of `invoke`, and the answer back. It derives its
 * methods, routes and codecs from the service's descriptor and names none of them, so a new rpc in the proto is
 * served by every binding without a change here.
 */
export interface BindingOptions {
  readonly service: DescService;
  readonly invoke: Invoke;
  readonly limits: Limits;
  /** Counts requests until they are here, over all bindings of a server. */
  readonly arrivals: Arrivals;
  readonly logger: Logger;
}

/**
 * A binding that lives on the HTTP port, beside others.
 *
 * @typeParam M what is known of a request whose verb and path are for this binding, such as its route.
 */
export interface HttpBinding<M = unknown> {
  /** What this binding knows of a verb and a path; undefined where they are not for it. */
  match(verb: string, path: string): M | undefined;
  /** Answers a request that it has matched. Whatever goes wrong is an answer, too: it never rejects. */
  handle(request: HttpRequest, match: M): Promise<HttpResponse>;
  /** An error without a further look at the request, as a client of this binding reads errors. */
  refuse(request: HttpRequest, error: A2AError): HttpResponse;
}
