import type { JsonValue } from "@bufbuild/protobuf";

/**
 * One observation of a client of an older version: requests as they are sent, and the expected answers. Strings name
 * values as `${name}`; `pattern.ts` describes patterns.
 *
 * Variables: `${rpc}` and `${rest}` are the paths of the two JSON bindings, `${webhook}` a receiver of this case,
 * `${token}` a valid bearer token, `${extension}` an extension that the agent declares, `${uuid:x}` a fresh UUID, the
 * same within the case for the same x. All others were captured by earlier steps.
 */
export interface Case extends Step {
  readonly id: string;
  /** `any`: what a server of several versions does. */
  readonly version: "0.1" | "0.2" | "0.3" | "any";
  readonly binding: "DISCOVERY" | "JSONRPC" | "HTTP+JSON" | "GRPC";
  readonly name: string;
  /** Differences from the default server. */
  readonly server?: ServerSettings;
  readonly note?: string;
  /** Steps that run first, in order. */
  readonly given?: readonly Step[];
}

/** Default: streaming, pushNotifications and extendedCard true, auth none, every version. */
export interface ServerSettings {
  readonly streaming?: boolean;
  readonly pushNotifications?: boolean;
  readonly extendedCard?: boolean;
  /** Requests need `Authorization: Bearer ${token}`. */
  readonly auth?: "bearer";
  readonly extensions?: readonly string[];
  /** The versions whose cards the path that several share may show. */
  readonly cards?: readonly string[];
}

/** A request and what it has to bring. */
export interface Step {
  readonly request: Request;
  readonly expect: Expectation;
  /** Values to remember: JSON pointers into `{status, headers, body}`. */
  readonly capture?: Readonly<Record<string, string>>;
}

export interface Request {
  readonly method: "DELETE" | "GET" | "GRPC" | "POST";
  /** For `GRPC` the full path of the rpc. */
  readonly path: string;
  /** For `GRPC` its metadata. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; for `GRPC` the message in proto3 JSON. */
  readonly body?: Pattern;
  /** Body that is sent unchanged. */
  readonly rawBody?: string;
}

/** JSON, some of whose values stand for others. */
export type Pattern = JsonValue;

/** The expected answer. */
export interface Expectation {
  /** A code of HTTP, or the name of a status of gRPC. */
  readonly status?: Pattern;
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, Pattern>>;
  readonly body?: Pattern;
  /** All events of a stream, in order. */
  readonly events?: readonly Pattern[];
  readonly firstEvent?: Pattern;
  readonly lastEvent?: Pattern;
  /** The client leaves after the events that are looked at. */
  readonly thenDisconnect?: boolean;
  /** The server ends the stream. */
  readonly closed?: boolean;
  /** One of these has to hold as well. */
  readonly anyOf?: readonly Expectation[];
  /** Steps that run once the stream is open. */
  readonly during?: readonly Step[];
  /** A request like this reaches `${webhook}`. */
  readonly webhook?: { readonly eventually: WebhookRequest };
}

export interface WebhookRequest {
  readonly method?: Pattern;
  readonly headers?: Readonly<Record<string, Pattern>>;
  readonly body?: Pattern;
}
