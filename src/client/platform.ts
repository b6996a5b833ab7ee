import type { DescMethod } from "@bufbuild/protobuf";
import type { Interceptor, Transport } from "@connectrpc/connect";
import type { OlderMessages, OlderVersion } from "../version/callable.js";
import type { CallParameters } from "./calls/parameters.js";
import type { Stop } from "./calls/stop.js";

/** An HTTP request of the client. */
export interface HttpAsk {
  readonly url: string;
  /** In upper case. */
  readonly method: string;
  /** Names and values, such as those of Headers. */
  readonly headers: Iterable<[name: string, value: string]>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Ends it: an AbortSignal, or as much of one as is needed. */
  readonly signal?: Stop;
}

/** An HTTP response. Exactly one of `text`, `chunks`, `read` and `cancel` is called. */
export interface HttpAnswer {
  readonly status: number;
  /** The value of `Content-Type`, or empty. */
  readonly contentType: string;
  /** Made when they are first asked for. */
  readonly headers: Headers;
  /** The whole body. @throws A2AError with reason INVALID_AGENT_RESPONSE when it has more than `maxBytes` bytes */
  text(maxBytes: number): Promise<string>;
  /** The body as it arrives. Leaving the loop closes the connection. */
  chunks(): AsyncIterable<Uint8Array>;
  /** The body as it arrives, and then its end. What `take` throws closes the connection, and is thrown. */
  read(take: (chunk: Uint8Array) => void): Promise<void>;
  /** Nobody wants the body. */
  cancel(): void;
  /** Behind the body, where the client has them: that of gRPC. Made when they are first asked for. */
  readonly trailers?: Headers | undefined;
  /** One of the headers or trailers by its lower-case name, without making all of them, where the client can. */
  field?(of: "headers" | "trailers", name: string): string | undefined;
}

/** Sends HTTP requests. Rejects with an A2AError, reason UNAVAILABLE, where no answer came. Redirects are answers. */
export type HttpClient = (ask: HttpAsk) => Promise<HttpAnswer>;

/** Settings of a transport. */
export interface TransportSettings {
  /** The URL of the interface, as the card names it. */
  readonly url: string;
  /** What is put onto each call before an interceptor sees it. */
  readonly parameters?: CallParameters | undefined;
  /** The outermost first. */
  readonly interceptors: readonly Interceptor[];
  /** The largest answer, or event of a stream, in bytes. */
  readonly maxAnswerBytes: number;
  /** The values in it, at most. */
  readonly maxAnswerValues: number;
  /** The version of the interface, where it is one before that of this client. */
  readonly older?: OlderVersion | undefined;
}

/** What a transport of protobuf's messages is made of. */
export interface MessageSettings extends TransportSettings {
  /** How an older version has the methods; undefined: they are those of the service. */
  readonly methods?: ((method: DescMethod) => OlderMessages | undefined) | undefined;
}

/** Functions that differ between Node.js and other runtimes. One for each client; it holds the connections. */
export interface Platform {
  /** What JSON-RPC, HTTP+JSON, Connect and gRPC-Web are made of (`transport/`). */
  readonly http: HttpClient;
  /** Makes the transport of Connect. */
  readonly connect: (settings: TransportSettings) => Transport;
  /** Makes the transport of gRPC-Web. */
  readonly grpcWeb: (settings: TransportSettings) => Transport;
  /** Undefined where there is no gRPC: in browsers and at the edge. */
  readonly grpc: ((settings: MessageSettings) => Transport) | undefined;
  /** Closes idle connections and lets nothing new begin. */
  close(): Promise<void>;
}

/** TLS of a client in PEM, as `node:tls` takes it (Node.js only). */
export interface ClientTls {
  /** Certificates of those that are trusted, instead of the system's. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** The certificate that the client shows (mutual TLS), and its key. */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
}

/** Options of a platform. */
export interface PlatformOptions {
  /** Everywhere but in Node.js: used instead of the global one. */
  readonly fetch?: typeof globalThis.fetch;
  /** Node.js alone. */
  readonly tls?: ClientTls;
  /**
   * Node.js alone: whether addresses of gRPC without a scheme (`host:port`) are called without TLS. Default: those of this machine
   * are, and no others.
   */
  readonly plaintextGrpc?: boolean;
  /** Node.js alone; of the client's limits there is no other that it needs. */
  readonly limits?: { readonly connectTimeoutMs?: number };
}
