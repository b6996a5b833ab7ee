import type { Cancellation } from "../core/async.js";
import { Call, type CallStart, type Peer } from "../core/call.js";
import { VERSION_PARAMETER, versionFromQuery } from "../wire/service-params.js";
import type { InboundBudget } from "./inbound-budget.js";

/** Target of a request, parsed once for all HTTP bindings. */
export interface RequestTarget {
  /** Path below the mount point, percent-encoded as it arrived, beginning with `/`. */
  readonly path: string;
  /** Query string without the `?`, as it arrived. */
  readonly query: string;
  /** Mount path of the handler, without a trailing slash; absent if unknown. */
  readonly mount?: string;
  /** The tenant from the URL, for versions without tenants in their messages. `path` does not contain it then. */
  readonly tenant?: string;
  /** Headers of every answer: names and values alternate. */
  readonly headers: readonly string[];
}

/** One HTTP request in any runtime. It also reports when its client goes away. */
export interface HttpRequest extends Cancellation {
  readonly method: string;
  /** URL as it arrived: a path with its query, or a whole URL (RFC 9112, 3.2). */
  readonly url: string;
  readonly httpVersion: string;
  /** Path that a framework has removed from the URL. */
  readonly baseUrl: string;
  /** Set once by the dispatch, before any route or binding sees the request. */
  target: RequestTarget;
  readonly peer: Peer;
  /** Id of the request, which its answer and its log lines carry. */
  readonly requestId: string;
  /** True if the request has several `Host` headers. `header` returns only the first. */
  readonly namesSeveralHosts: boolean;
  /** True if an answer may have trailers, which gRPC needs. */
  readonly hasTrailers: boolean;
  /** Fires when the client goes away before the answer is finished. Created on demand. */
  readonly signal: AbortSignal;
  /** All headers, in the class of the Fetch API. */
  readonly headers: Headers;
  /** A header by its lower-case name, repeated ones joined by commas. `:authority` is the host in every version of HTTP. */
  header(name: string): string | undefined;
  /**
   * Called before a binding answers the request, before it reads headers or body.
   *
   * @throws if other code has consumed the body.
   */
  prepare(): void;
  /**
   * Reads the body as a whole.
   *
   * @throws A2AError with reason REQUEST_TOO_LARGE beyond the size, as early as possible; TOO_MANY_REQUESTS if too many
   * bytes are arriving; CANCELLED if the client disconnects before the end.
   */
  readBody(size: BodySize, inboundBudget: InboundBudget): Promise<Buffer>;
  /**
   * Yields the chunks of the body as they arrive, for bidirectional streams. If the reader stops early, the rest is
   * discarded.
   */
  chunks(): AsyncIterable<Uint8Array>;
  /**
   * Reads and drops the rest of the body, so that a client that reads only after sending receives the answer. A body
   * that does not end is aborted after the answer.
   */
  discard(): void;
  /** Breaks off the answer and ends the call, as if the client had left. Without effect after the answer. */
  abort(): void;
}

/**
 * Returns a service parameter by its lower-case name. The protocol version may also be a query parameter (specification
 * 3.6.1); the header takes precedence.
 */
export function serviceParameter(request: HttpRequest, name: string): string | undefined {
  const value = request.header(name);
  return value === undefined && name === VERSION_PARAMETER ? versionFromQuery(request.target.query) : value;
}

/** Returns the call of a request. */
export function callOf(request: HttpRequest, binding: string, impliedVersion?: string): Call {
  return new Call(new HttpCallStart(request, binding, impliedVersion));
}

/** Returns the call of a request whose service parameters are only headers. */
export function headerCallOf(request: HttpRequest, binding: string, impliedVersion?: string): Call {
  return new Call(new HeaderCallStart(request, binding, impliedVersion));
}

/** A call's facts from HTTP. The signal is created on first use. */
class HeaderCallStart implements CallStart {
  readonly binding: string;
  readonly peer: Peer;
  readonly impliedVersion?: string;
  protected readonly request: HttpRequest;

  constructor(request: HttpRequest, binding: string, impliedVersion: string | undefined) {
    this.request = request;
    this.binding = binding;
    this.peer = request.peer;
    if (impliedVersion !== undefined) this.impliedVersion = impliedVersion;
  }

  header(name: string): string | undefined {
    return this.request.header(name);
  }

  query(name: string): string | undefined {
    const { query } = this.request.target;
    return query === "" ? undefined : (new URLSearchParams(query).get(name) ?? undefined);
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get requestId(): string {
    return this.request.requestId;
  }

  get mount(): string | undefined {
    return this.request.target.mount;
  }

  get pathTenant(): string | undefined {
    return this.request.target.tenant;
  }

  get cancellation(): Cancellation {
    return this.request;
  }
}

class HttpCallStart extends HeaderCallStart {
  override header(name: string): string | undefined {
    return serviceParameter(this.request, name);
  }
}

/** Maximum size of a body, in bytes. */
export interface BodySize {
  /** Maximum size of the request itself. */
  readonly max: number;
  /** Extra bytes for the framing around it. */
  readonly framing: number;
}
