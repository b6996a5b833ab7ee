import type { Call, Peer } from "../core/call.js";
import { type Forwarded, forwardedBy, type ProxyHeaders, type RequestOrigin, type Trust } from "../http/forwarded.js";
import type { HttpRequest } from "../http/request.js";
import type { ServiceInterceptor } from "../service/invoke.js";

/** Facts of trusted proxies about calls. */
export interface Proxies {
  /** Replaces the proxy by its client as the call's peer; the outermost interceptor. */
  readonly intercept: ServiceInterceptor;
  /** Returns the client of a request, even if a trusted proxy forwards it. */
  peerOf(request: Pick<HttpRequest, "header" | "peer">): Peer;
  /** Returns the address of a request's client. */
  addressOf(request: Pick<HttpRequest, "header" | "peer">): string;
  /** True if a trusted proxy reports that its client uses TLS. */
  isSecure(request: Pick<HttpRequest, "header" | "peer">): boolean;
  /** Returns the origin of a call, with the address of its connection. */
  originOf(call: Call): Omit<RequestOrigin, "mount">;
}

/**
 * @param trust undefined if no proxy is trusted, so that every peer is a client.
 * @param headers see `ServerOptions.proxyHeaders`
 */
export function createProxies(trust: Trust | undefined, headers?: ProxyHeaders): Proxies {
  if (trust === undefined) {
    return {
      intercept: (next) => next,
      originOf: directOriginOf,
      peerOf: ({ peer }) => peer,
      addressOf: ({ peer }) => peer.address,
      isSecure: () => false,
    };
  }
  const origins = new WeakMap<Call, Omit<RequestOrigin, "mount">>();
  const originOf = (call: Call): Omit<RequestOrigin, "mount"> => origins.get(call) ?? directOriginOf(call);
  const saidOf = (request: Pick<HttpRequest, "header" | "peer">): Forwarded | undefined =>
    forwardedBy({ header: (name: string) => request.header(name), mount: "", ...request.peer }, trust, headers);
  return {
    originOf,
    peerOf: (request) => (trust(request.peer.address) ? clientOf(request.peer, saidOf(request)) : request.peer),
    addressOf: (request) => saidOf(request)?.client ?? request.peer.address,
    isSecure: (request) => saidOf(request)?.proto === "https",
    intercept: (next) => (invocation) => {
      const { call } = invocation;
      const origin = { ...originOf(call), mount: "" };
      const forwarded = forwardedBy(origin, trust, headers);
      if (forwarded !== undefined) origins.set(call, origin);
      if (forwarded !== undefined || (call.peer.certificate !== undefined && trust(origin.address))) {
        call.peer = clientOf(origin, forwarded);
      }
      return next(invocation);
    },
  };
}

/**
 * Returns the client of a trusted proxy. It has no certificate, even if the proxy forwards no facts about its client:
 * the certificate of the connection belongs to the proxy.
 */
function clientOf({ address, encrypted }: Peer, said: Forwarded | undefined): Peer {
  return {
    address: said?.client ?? address,
    encrypted: said?.proto === undefined ? encrypted : said.proto === "https",
  };
}

const directOriginOf = (call: Call): Omit<RequestOrigin, "mount"> => ({
  header: (name) => call.header(name),
  address: call.peer.address,
  encrypted: call.peer.encrypted,
});
