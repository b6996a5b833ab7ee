import type { DescMethod } from "@bufbuild/protobuf";
import type { Interceptor, Transport } from "@connectrpc/connect";
import type { TelemetryOption } from "../telemetry/choice.js";
import type { OlderVersion } from "../version/client-versions.js";
import type { OlderMessages } from "../version/older-calls.js";
import type { CallParameters } from "./calls/parameters.js";
import type { StopSignal } from "./calls/stop-signal.js";
import type { ClientSpans } from "./spans.js";

/** An HTTP request of the client. */
export interface HttpAsk {
  readonly url: string;
  /** In upper case. */
  readonly method: string;
  /** Names and values, such as those of Headers. */
  readonly headers: Iterable<[name: string, value: string]>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Aborts it: an AbortSignal, or the part of one that is needed. */
  readonly signal?: StopSignal;
}

/** An HTTP response. Exactly one of `text`, `chunks`, `read` and `cancel` is called. */
export interface HttpAnswer {
  readonly status: number;
  /** The value of `Content-Type`, or empty. */
  readonly contentType: string;
  /** Created on first access. */
  readonly headers: Headers;
  /** Reads the whole body. @throws A2AError INVALID_AGENT_RESPONSE if it has more than `maxBytes` bytes */
  text(maxBytes: number): Promise<string>;
  /** Yields the body as it arrives. Leaving the loop closes the connection. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Passes the body to `take` as it arrives, until its end. An error of `take` closes the connection and is thrown. */
  read(take: (chunk: Uint8Array) => void): Promise<void>;
  /** Discards the body. */
  cancel(): void;
  /** Trailers after the body, if the client supports them (gRPC's does). Created on first access. */
  readonly trailers?: Headers | undefined;
  /** Returns one header or trailer by its lower-case name, without creating all of them, if the client can. */
  field?(of: "headers" | "trailers", name: string): string | undefined;
}

/** Sends HTTP requests. Rejects with an A2AError, reason UNAVAILABLE, if no answer came. Redirects are answers. */
export type HttpClient = (ask: HttpAsk) => Promise<HttpAnswer>;

/** Settings of a transport. */
export interface TransportSettings {
  /** URL of the interface, as in the card. */
  readonly url: string;
  /** Parameters added to each call before its interceptors run. */
  readonly parameters?: CallParameters | undefined;
  /** Outermost first. */
  readonly interceptors: readonly Interceptor[];
  /** Maximum size of an answer, or of an event of a stream, in bytes. */
  readonly maxAnswerBytes: number;
  /** Maximum number of values in it. */
  readonly maxAnswerValues: number;
  /** The interface's version, if it is older than the client's. */
  readonly older?: OlderVersion | undefined;
}

/** Settings of a transport of protobuf messages. */
export interface MessageSettings extends TransportSettings {
  /** Methods of an older version; undefined for those of the service. */
  readonly methods?: ((method: DescMethod) => OlderMessages | undefined) | undefined;
}

/** Functions that differ between Node.js and other runtimes. Each client has its own, which holds the connections. */
export interface Platform {
  /** Used by JSON-RPC, HTTP+JSON, Connect and gRPC-Web (`transport/`). */
  readonly http: HttpClient;
  /** Creates a Connect transport. */
  readonly connect: (settings: TransportSettings) => Transport;
  /** Creates a gRPC-Web transport. */
  readonly grpcWeb: (settings: TransportSettings) => Transport;
  /** Undefined on platforms without gRPC: browsers and edge runtimes. */
  readonly grpc: ((settings: MessageSettings) => Transport) | undefined;
  /** Returns the spans of a client; undefined if none are created. @throws TypeError for another value */
  readonly spans: (telemetry: TelemetryOption | undefined) => Promise<ClientSpans | undefined>;
  /** Closes idle connections and rejects new calls. */
  close(): Promise<void>;
}

/** TLS options in PEM, as in `node:tls` (Node.js only). */
export interface ClientTls {
  /** Trusted certificate authorities, instead of the system's. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** The client's certificate (mutual TLS), and its key. */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
}

/** Options of a platform. */
export interface PlatformOptions {
  /** Replaces the global `fetch` (not in Node.js). */
  readonly fetch?: typeof globalThis.fetch;
  /** Node.js only. */
  readonly tls?: ClientTls;
  /**
   * True to call gRPC addresses without a scheme (`host:port`) without TLS, false to use TLS (Node.js only). Default:
   * plaintext for this machine only.
   */
  readonly plaintextGrpc?: boolean;
  /** Limits that the platform needs (Node.js only). */
  readonly limits?: { readonly connectTimeoutMs?: number };
}
