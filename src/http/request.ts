import { Call, type CallStart, type Peer } from "../core/call.js";
import type { Cancellation } from "../core/cancellation.js";
import { VERSION_PARAMETER, versionFromQuery } from "../wire/service-params.js";
import type { Arrivals } from "./arrivals.js";

/** Target of a request, parsed once for all HTTP bindings. */
export interface RequestTarget {
  /** Path below the mount point, percent-encoded as it arrived, beginning with `/`. */
  readonly path: string;
  /** Query string without the `?`, as it arrived. */
  readonly query: string;
  /** Path that the handler is mounted below, without a slash at the end; absent where it is not known. */
  readonly mount?: string;
  /** The tenant whose URL the path is below, for calls whose version has none in its messages; it is no part of the path then. */
  readonly tenant?: string;
  /** Headers of every answer: names and values alternate. */
  readonly headers: readonly string[];
}

/** One HTTP request in any runtime. It also reports when its client goes away. */
export interface HttpRequest extends Cancellation {
  readonly method: string;
  /** As it arrived: a path with its query, or a whole URL (RFC 9112, 3.2). */
  readonly url: string;
  readonly httpVersion: string;
  /** Path that a framework has removed from the URL. */
  readonly baseUrl: string;
  /** Set once by the dispatch, before any route or binding sees the request. */
  target: RequestTarget;
  readonly peer: Peer;
  /** Whether there are several `Host` headers, of which only the first is seen here. */
  readonly namesSeveralHosts: boolean;
  /** Whether an answer may have trailers, which gRPC needs. */
  readonly hasTrailers: boolean;
  /** Fires when the client goes away before the answer is finished. Created on demand. */
  readonly signal: AbortSignal;
  /** All headers, in the class of the Fetch API. */
  readonly headers: Headers;
  /** A header by its lower-case name, repeated ones joined by commas. `:authority` is the host in every version of HTTP. */
  header(name: string): string | undefined;
  /**
   * Called when a binding is about to answer the request, before its headers and its body are read.
   *
   * @throws where somebody before has read the body and left nothing of it.
   */
  prepare(): void;
  /**
   * Reads the body as a whole.
   *
   * @throws A2AError with reason REQUEST_TOO_LARGE beyond the size, as soon as that is known; TOO_MANY_REQUESTS where too
   * much is arriving; CANCELLED when the client goes away before the end.
   */
  readBody(size: BodySize, arrivals: Arrivals): Promise<Buffer>;
  /** The body as it comes, for conversations. Whoever stops half-way leaves the rest to be discarded. */
  chunks(): AsyncIterable<Uint8Array>;
  /**
   * Reads on without keeping anything, so that a client that sends before it listens gets to hear the answer. One that
   * does not end is cut off when the answer is out.
   */
  discard(): void;
}

/**
 * A service parameter by its lower-case name. The protocol version may come as a request parameter instead (specification
 * 3.6.1); the header wins.
 */
export function serviceParameter(request: HttpRequest, name: string): string | undefined {
  const value = request.header(name);
  return value === undefined && name === VERSION_PARAMETER ? versionFromQuery(request.target.query) : value;
}

/** A call that arrived with a request. */
export function callOf(request: HttpRequest, binding: string, impliedVersion?: string): Call {
  return new Call(new HttpCallStart(request, binding, impliedVersion));
}

/** A call whose service parameters are headers alone. */
export function headerCallOf(request: HttpRequest, binding: string, impliedVersion?: string): Call {
  return new Call(new HeaderCallStart(request, binding, impliedVersion));
}

/** A call's facts from HTTP. The signal costs something only when it is used. */
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

/** How large a body may be, in bytes. */
export interface BodySize {
  /** The largest request. */
  readonly max: number;
  /** Extra bytes for the framing around it. */
  readonly framing: number;
}
