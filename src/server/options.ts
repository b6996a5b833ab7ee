import type { Authenticator } from "../auth/authenticator.js";
import type { AgentDirectory, AgentsGiven, AgentsInput } from "../card/agents.js";
import type { CardSigning } from "../card/signing/signer.js";
import type { AuditLog, AuditRecorder } from "../core/audit.js";
import type { OwnerOf } from "../core/caller.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { RemoteAgents } from "../delegation/options.js";
import type { EngineOptions } from "../engine/engine.js";
import type { ProxyHeaders } from "../http/forwarded.js";
import type { TlsFiles } from "../http/node/tls.js";
import type { Trust } from "../http/request-origin.js";
import type { PushOptions } from "../push/options.js";
import type { Interceptor } from "../service/invoke.js";
import type { ServiceOptions } from "../service/options.js";
import type { TaskStore } from "../store/task-store.js";
import type { Versions } from "../version/versions.js";
import type { CardGrpc } from "./public-address.js";
import type { TlsPaths } from "./tls-reload.js";

/** Options of a server of agents, embedded or on ports of its own. */
export type A2AOptions = CommonOptions & AgentsInput;

/** Options of a server on ports of its own. */
export type ServerOptions = A2AOptions & PortsOptions;

/** Options before the check that there is an agent. */
export type UncheckedOptions = CommonOptions & AgentsGiven & PortsOptions;

interface CommonOptions {
  /** Keeps the tasks: `sqliteStore(path)`, or `memoryStore()` for tests. It is closed together with the server. */
  readonly store: TaskStore;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<Limits>;
  /** Gets the log; any pino logger fits. Default: nothing is logged. */
  readonly logger?: Logger;
  /**
   * Where the audit log goes: a record of each refused caller, limit that was hit, failed delivery, use of a key and act of the
   * server (docs/security.md). True: to the logger, each with `channel: "audit"`, through its `child` where it has one. False:
   * nowhere. Default true.
   */
  readonly audit?: boolean | AuditLog;
  /**
   * Identifies callers by their credentials, for agents that declare no `security`: the seam below it, for what no scheme says.
   * Default: every caller is anonymous.
   */
  readonly authenticator?: Authenticator;
  /**
   * Says to whom belongs what a caller creates, such as an organisation whose members see each other's tasks:
   * `({ claims }) => claims.org`. It gets the caller as the authentication found it, once per call, and never an anonymous one;
   * undefined refuses the caller (PERMISSION_DENIED). Its former name is then `caller.subject`. Default: that name.
   */
  readonly ownerOf?: OwnerOf;
  /**
   * Run around every call of every binding, after authentication, in the order given: for rate limits, audit or telemetry.
   * Each has the form `(next) => (invocation) => next(invocation)`, with code before or after. Default: none.
   */
  readonly interceptors?: readonly Interceptor[];
  /**
   * Versions of the protocol that are spoken, by their names in `A2A-Version`. 1.0 has to be one of them. Default: all that there are.
   */
  readonly versions?: readonly string[];
  /**
   * Also speaks a version of the protocol that is a draft, to those who ask for it with `A2A-Version`. It may change with any release until
   * it is final. Default: none.
   */
  readonly preview?: "1.1";
  /**
   * Refuses calls of 1.0 that name no protocol version. Default false: package, method or path imply one. Calls of versions before
   * `A2A-Version` name none, and are answered either way.
   */
  readonly strictVersion?: boolean;
  /**
   * Over JSON-RPC, answers a stream that is refused before it begins with one event, which has the error, for clients that read nothing but
   * events there (the Go library). Default false: an answer of JSON.
   */
  readonly streamErrorsAsEvents?: boolean;
  /** Treats a message's id as its idempotency key when no key is sent. Default false. */
  readonly idempotentMessageIds?: boolean;
  /** How long finished tasks are kept, in milliseconds. Default: for ever. */
  readonly retentionMs?: number;
  /**
   * How often a message of a client of A2A 0.1 to a task that is over begins another one, in the same session and under the same id, with
   * the messages of the one before. Default and maximum 64; 0 refuses such a message, as every later version does. With `retentionMs`
   * a call that names an id reads the heads of so many tasks.
   */
  readonly maxReopens?: number;
  /** How often one turn is run again after crashes before its task fails. Default 3. */
  readonly maxRestarts?: number;
  /**
   * When a process has given no sign of life for this time, other processes take its running tasks over, in milliseconds.
   * Default 15,000. It does not apply to a store that is not shared: a process that opens it takes over at once.
   */
  readonly leaseMs?: number;
  /**
   * Logs a line at `info` for each call, when it is over, for each request that is refused before it is a call of a method (its
   * method may be `-`), and for each execution that ends. Default false; on a terminal `parley serve` has it on.
   */
  readonly accessLog?: boolean;
  /**
   * URL under which clients reach the HTTP port; it may have a path. Default: the address that a trusted proxy was called at,
   * or the address that the server listens on. An embedded handler without a trusted proxy uses the host that each client
   * names, so set the URL there, above all where several paths or gRPC lead to it.
   */
  readonly publicUrl?: string;
  /** `host:port` under which clients reach gRPC. Default: the host of the URL, and the gRPC port. */
  readonly grpcPublicUrl?: string;
  /**
   * How cards name gRPC. Default `address`: by `host:port`, as the specification has it (4.4.6). `url`: by the URL of the
   * HTTP port, which speaks gRPC as well; that URL must not have a path. `omit`: not at all. The last two are for clients
   * that refuse a card with an interface that is not a URL of the card's own origin.
   */
  readonly cardGrpc?: CardGrpc;
  /**
   * Proxies whose headers are trusted (`proxyHeaders`): addresses, networks such as `10.0.0.0/8`, or the names `loopback`,
   * `linklocal`, `uniquelocal`. True trusts every peer. Default: none.
   */
  readonly trustProxy?: boolean | string | readonly string[];
  /**
   * The headers that trusted proxies write. Default `x-forwarded`: `X-Forwarded-For`, `-Proto`, `-Host` and `-Prefix`, as nginx,
   * Envoy and Caddy do. `forwarded`: `Forwarded` (RFC 7239). Headers of the other kind come from clients and are ignored.
   */
  readonly proxyHeaders?: ProxyHeaders;
  /**
   * Hosts that requests on the HTTP port may name: host names, `*.example.com` for all subdomains of one; true for every host.
   * `localhost`, IP addresses and the host of `publicUrl` are always allowed. Default: no others where only this machine
   * reaches the server, so that web pages cannot call it by a name that resolves to it ("DNS rebinding"), and every host
   * elsewhere.
   */
  readonly allowedHosts?: true | readonly string[];
  /** Origins whose scripts may call, such as `https://app.example.org`; true for every origin. Default: none. */
  readonly cors?: boolean | readonly string[];
  /**
   * Shows browsers a page at `/`, and at `/{tenant}` for each of several agents: the card, commands to copy, and a box to talk
   * to the agent. Default: true for a server of its own, false where the handler is embedded.
   */
  readonly page?: boolean;
  /** How long clients may cache a card, in seconds. Default 300. */
  readonly cardMaxAgeSeconds?: number;
  /**
   * Signs the cards of all agents, extended ones too, and serves the public keys at `/.well-known/jwks.json` (specification 8.4).
   * An embedded handler, and a server behind a trusted proxy, need `publicUrl` for it. Default: cards are not signed.
   */
  readonly cardSigning?: CardSigning;
  /**
   * Sends push notifications (specification 3.5.3) to the webhooks that clients name, for every agent that makes tasks. True: to public
   * addresses by https alone, every event, unsigned. An object says otherwise; each of its options has a docstring (`PushOptions`).
   * Default: off, and cards say so.
   */
  readonly push?: boolean | PushOptions;
  /**
   * Agents that the agents of this server call (`turn.call`, `turn.delegate`), by the names that they call them by: a URL, or an object
   * with the URL, credentials and more (`RemoteAgentOptions`, docs/delegation.md). An agent may also name a URL itself. Default: none.
   */
  readonly remoteAgents?: RemoteAgents;
  /** Path that requests begin with, where the framework that mounts the handler does not remove it. */
  readonly basePath?: string;
}

interface PortsOptions {
  /** HTTP port, for every binding; 0 for any free port. Default 8080. */
  readonly port?: number;
  /** gRPC port; 0 for any free port, false for none. Default 50051. */
  readonly grpcPort?: number | false;
  /** Address or name to listen on. Default 127.0.0.1, which only this machine reaches. */
  readonly host?: string;
  /** Describes the service to whoever asks over gRPC, on both ports, as grpcurl does. Default true. */
  readonly reflection?: boolean;
  /**
   * Makes both ports speak TLS, 1.2 or later. Named files (`keyFile`, `certFile`, `caFile`) are read again when they change, without
   * a restart; see also `reloadTls`. Default: cleartext.
   */
  readonly tls?: TlsFiles | TlsPaths;
  /**
   * For how long browsers are to use TLS alone for this host and all its ports, in seconds (HSTS, RFC 6797); 0: it is not said. It is
   * said over TLS, and where a trusted proxy says that its client uses it. Default 31,536,000, which is a year.
   */
  readonly hstsMaxAgeSeconds?: number;
}

/** Options with their defaults, checked. */
export interface Settings {
  /** Options of the engine only. */
  readonly engine: Pick<EngineOptions, "retentionMs" | "maxReopens" | "maxRestarts" | "leaseMs" | "logsEnds">;
  /** Options of the service only. */
  readonly service: Pick<
    ServiceOptions,
    "authenticator" | "ownerOf" | "ignoresSecurity" | "interceptors" | "strictVersion" | "idempotentMessageIds"
  >;
  readonly agents: AgentDirectory;
  readonly versions: Versions;
  readonly store: TaskStore;
  readonly limits: Limits;
  readonly logger: Logger;
  /** Undefined where nobody reads it. */
  readonly audit: AuditRecorder | undefined;
  readonly accessLog: boolean;
  readonly streamErrorsAsEvents: boolean;
  readonly trust: Trust | undefined;
  readonly proxyHeaders: ProxyHeaders;
  readonly allowedHosts: true | readonly string[];
  readonly cors: true | readonly string[] | undefined;
  readonly publicUrl: string | undefined;
  readonly grpcPublicUrl: string | undefined;
  readonly cardGrpc: CardGrpc;
  readonly cardMaxAgeSeconds: number;
  readonly cardSigning: CardSigning | undefined;
  // Undefined where no push notifications are sent.
  readonly push: PushOptions | undefined;
  /** Whether the process makes a key for notifications of versions that sign them, where the options have none, and shows it. */
  readonly makesPushKey: boolean;
  readonly remoteAgents: RemoteAgents;
  readonly page: boolean;
  readonly basePath: string;
  readonly host: string;
  readonly port: number;
  readonly grpcPort: number | undefined;
  readonly tls: TlsFiles | undefined;
  /** Where they come from, if that is known. */
  readonly tlsPaths: TlsPaths | undefined;
  readonly hstsMaxAgeSeconds: number;
  readonly reflection: boolean;
}
