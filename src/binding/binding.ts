import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { DescService } from "@bufbuild/protobuf";
import type { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { Invoke } from "../service/invoke.js";
import type { Arrivals } from "./arrivals.js";

/** A request on the HTTP port, HTTP/1.1 or HTTP/2. */
export type NodeServerRequest = IncomingMessage | Http2ServerRequest;

/** Its response. */
export type NodeServerResponse = ServerResponse | Http2ServerResponse;

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

/** A request's target, taken apart once for all HTTP bindings. */
export interface Target {
  /** Path below the mount point, percent-encoded as it arrived, beginning with `/`. */
  readonly path: string;
  /** Query string without the `?`, as it arrived. */
  readonly query: string;
  /** Path that the handler is mounted below, without a slash at the end; absent where nothing is known of one. */
  readonly mount?: string;
  /** Headers that every answer has to have: names and values in turns. */
  readonly headers: readonly string[];
  /** Hears of what goes wrong where no promise tells of it. */
  readonly logger?: Logger;
}

/** A binding that lives on the HTTP port, beside others. */
export interface HttpBinding {
  /** Whether this request is for this binding, judged by verb and path alone. */
  matches(verb: string, path: string): boolean;
  /** Answers it. Never throws and never rejects: whatever goes wrong is written to the response. */
  handle(request: NodeServerRequest, response: NodeServerResponse, target: Target): Promise<void>;
  /** Answers it with an error without looking further at it, as a client of this binding reads errors. */
  refuse(request: NodeServerRequest, response: NodeServerResponse, target: Target, error: A2AError): void;
}
