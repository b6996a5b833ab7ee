import { isIPv6 } from "node:net";
import type { AgentInterface } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Endpoints, interfacesOf, nativeInterfacesOf } from "../card/interfaces.js";
import {
  type Forwarded,
  forwardedBy,
  hostOf,
  type ProxyHeaders,
  type RequestOrigin,
  type Trust,
} from "../http/forwarded.js";
import type { Versions } from "../version/versions.js";

/** A port that was opened. */
export interface Listening {
  /** Host as it was configured, not as it was resolved: certificates and people use this one. */
  readonly host: string;
  readonly port: number;
  readonly encrypted: boolean;
}

/**
 * How a card names gRPC: by `host:port` of its port (specification 4.4.6), by the URL of the HTTP port, which speaks it as
 * well, or not at all.
 */
export type CardGrpc = "address" | "url" | "omit";

/** What the addresses in a card are made of. */
export interface AddressSources {
  /** Wins over everything else. Without a slash at the end. */
  readonly publicUrl: string | undefined;
  /** `host:port`; wins for gRPC. */
  readonly grpcPublicUrl: string | undefined;
  readonly cardGrpc: CardGrpc;
  /** Undefined: no proxy is trusted. */
  readonly trust: Trust | undefined;
  /** See `ServerOptions.proxyHeaders`. */
  readonly proxyHeaders?: ProxyHeaders;
  /** Versions that the interfaces of a card name. Default: those of every server. */
  readonly versions?: Versions;
}

/** The addresses under which clients reach the server, for the card (specification 4.4.6). */
export class PublicAddress {
  readonly #sources: AddressSources;
  #http: Listening | undefined;
  #grpc: Listening | undefined;

  constructor(sources: AddressSources) {
    this.#sources = sources;
  }

  /** Called by the server when its ports are open; never called for an embedded handler. */
  listening(http: Listening, grpc: Listening | undefined): void {
    this.#http = http;
    this.#grpc = grpc;
  }

  /**
   * URL of the HTTP port, without a slash at the end: the configured one; behind a trusted proxy the one that the client
   * called; otherwise the address that the server listens on. An embedded handler uses the `Host` that the client named,
   * and only this client sees it.
   */
  url(origin?: RequestOrigin): string {
    const { publicUrl } = this.#sources;
    if (publicUrl !== undefined) return publicUrl;
    const forwarded = this.#forwarded(origin);
    if (origin !== undefined && forwarded !== undefined) {
      const host = forwarded.host ?? hostOf(origin) ?? (this.#http === undefined ? "localhost" : authority(this.#http));
      return `${forwarded.proto ?? schemeOf(origin)}://${host}${forwarded.prefix ?? ""}${origin.mount}`;
    }
    if (this.#http !== undefined) return `${schemeOf(this.#http)}://${authority(this.#http)}`;
    if (origin === undefined) return "http://localhost";
    return `${schemeOf(origin)}://${hostOf(origin) ?? "localhost"}${origin.mount}`;
  }

  /** `host:port` of gRPC, or undefined where no such port is known. The host is that of the URL unless it is configured. */
  grpc(origin?: RequestOrigin): string | undefined {
    if (this.#sources.grpcPublicUrl !== undefined) return this.#sources.grpcPublicUrl;
    if (this.#grpc === undefined) return undefined;
    const elsewhere = this.#sources.publicUrl !== undefined || this.#forwarded(origin) !== undefined;
    return elsewhere ? `${new URL(this.url(origin)).hostname}:${this.#grpc.port}` : authority(this.#grpc);
  }

  /** Both, as the interfaces of an agent's card name them. */
  endpoints(tenant: string, origin?: RequestOrigin): Endpoints {
    const url = this.url(origin);
    return { url, grpc: this.#cardGrpc(url, origin), tenant };
  }

  /** The interfaces of an agent's card, with the addresses that work for a request of this origin. */
  interfaces(tenant: string, origin?: RequestOrigin): AgentInterface[] {
    return interfacesOf(this.endpoints(tenant, origin), this.#sources.versions);
  }

  /** Those of the service's own version alone. */
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

/** `host:port` for a client on this machine: a wildcard is not an address, and IPv6 needs brackets (RFC 3986, 3.2.2). */
export function authority({ host, port }: Pick<Listening, "host" | "port">): string {
  const wildcard = host === "0.0.0.0" || host === "::";
  return `${wildcard ? "localhost" : isIPv6(host) ? `[${host}]` : host}:${port}`;
}

const schemeOf = ({ encrypted }: { readonly encrypted: boolean }): string => (encrypted ? "https" : "http");
