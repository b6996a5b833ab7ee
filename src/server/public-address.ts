import { isIPv6 } from "node:net";
import type { AgentInterface } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Endpoints, interfacesOf, nativeInterfacesOf } from "../card/interfaces.js";
import {
  type Forwarded,
  forwardedBy,
  type ProxyHeaders,
  type RequestOrigin,
  requestedHost,
  type Trust,
} from "../http/forwarded.js";
import type { Versions } from "../version/versions.js";

/** An open port. */
interface Listening {
  /** Host as configured, not as resolved, because certificates name this one. */
  readonly host: string;
  readonly port: number;
  readonly encrypted: boolean;
}

/**
 * Form in which a card names gRPC: `host:port` of its port (specification 4.4.6), the URL of the HTTP port, which also
 * serves gRPC, or not at all.
 */
export type CardGrpc = "address" | "url" | "omit";

/** Options that determine the addresses in a card. */
export interface AddressSources {
  /** Public URL, without a trailing slash. Takes precedence over all other sources. */
  readonly publicUrl: string | undefined;
  /** `host:port`; takes precedence for gRPC. */
  readonly grpcPublicUrl?: string | undefined;
  readonly cardGrpc: CardGrpc;
  /** Undefined if no proxy is trusted. */
  readonly trust: Trust | undefined;
  /** See `ServerOptions.proxyHeaders`. */
  readonly proxyHeaders?: ProxyHeaders;
  /** Versions in the interfaces of a card. Default: all served versions. */
  readonly versions?: Versions;
}

/** The addresses at which clients reach the server, for the card (specification 4.4.6). */
export class PublicAddress {
  readonly #sources: AddressSources;
  #http: Listening | undefined;
  #grpc: Listening | undefined;

  constructor(sources: AddressSources) {
    this.#sources = sources;
  }

  /** Sets the open ports of a server. Not called for an embedded handler. */
  listening(http: Listening, grpc: Listening | undefined): void {
    this.#http = http;
    this.#grpc = grpc;
  }

  /**
   * Returns the URL of the HTTP port, without a trailing slash: the configured one; behind a trusted proxy, the one
   * that the client called; otherwise the address on which the server listens. An embedded handler uses the client's
   * `Host`, and only this client sees it.
   */
  url(origin?: RequestOrigin): string {
    const { publicUrl } = this.#sources;
    if (publicUrl !== undefined) return publicUrl;
    const forwarded = this.#forwarded(origin);
    if (origin !== undefined && forwarded !== undefined) {
      const host =
        forwarded.host ?? requestedHost(origin) ?? (this.#http === undefined ? "localhost" : authority(this.#http));
      return `${forwarded.proto ?? schemeOf(origin)}://${host}${forwarded.prefix ?? ""}${origin.mount}`;
    }
    if (this.#http !== undefined) return `${schemeOf(this.#http)}://${authority(this.#http)}`;
    if (origin === undefined) return "http://localhost";
    return `${schemeOf(origin)}://${requestedHost(origin) ?? "localhost"}${origin.mount}`;
  }

  /** Returns `host:port` of gRPC, or undefined without a known port. Its host is that of the URL unless configured. */
  grpc(origin?: RequestOrigin): string | undefined {
    if (this.#sources.grpcPublicUrl !== undefined) return this.#sources.grpcPublicUrl;
    if (this.#grpc === undefined) return undefined;
    const elsewhere = this.#sources.publicUrl !== undefined || this.#forwarded(origin) !== undefined;
    return elsewhere ? `${new URL(this.url(origin)).hostname}:${this.#grpc.port}` : authority(this.#grpc);
  }

  /** Returns both addresses, in the form for the interfaces of an agent's card. */
  endpoints(tenant: string, origin?: RequestOrigin): Endpoints {
    const url = this.url(origin);
    return { url, grpc: this.#cardGrpc(url, origin), tenant };
  }

  /** Returns the interfaces of an agent's card, with addresses that work for a request of this origin. */
  interfaces(tenant: string, origin?: RequestOrigin): AgentInterface[] {
    return interfacesOf(this.endpoints(tenant, origin), this.#sources.versions);
  }

  /** Returns only the interfaces of the service's own version. */
  nativeInterfaces(tenant: string, origin?: RequestOrigin): AgentInterface[] {
    return nativeInterfacesOf(this.endpoints(tenant, origin), this.#sources.versions);
  }

  #cardGrpc(url: string, origin: RequestOrigin | undefined): string | undefined {
    const { cardGrpc } = this.#sources;
    if (cardGrpc === "address") return this.grpc(origin);
    // gRPC cannot be served below a path: its paths begin with the service.
    return cardGrpc === "url" && new URL(url).pathname === "/" ? url : undefined;
  }

  #forwarded(origin: RequestOrigin | undefined): Forwarded | undefined {
    const { trust, proxyHeaders } = this.#sources;
    return trust === undefined || origin === undefined ? undefined : forwardedBy(origin, trust, proxyHeaders);
  }
}

/**
 * Returns `host:port` for a client on this machine. A wildcard becomes `localhost`, and IPv6 gets brackets (RFC 3986,
 * 3.2.2). A Unix socket has no port.
 */
export function authority({ host, port }: Pick<Listening, "host" | "port">): string {
  const wildcard = host === "0.0.0.0" || host === "::";
  const name = wildcard ? "localhost" : isIPv6(host) ? `[${host}]` : host;
  return port === 0 ? name : `${name}:${port}`;
}

const schemeOf = ({ encrypted }: { readonly encrypted: boolean }): string => (encrypted ? "https" : "http");
