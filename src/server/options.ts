import type { AdminAddress } from "../admin/option-checks.js";
import type { AdminAccessOptions, AdminOptions } from "../admin/options.js";
import type { AuditLog, AuditRecorder } from "../audit/audit.js";
import type { RecentAudit } from "../audit/recent.js";
import type { Authenticator } from "../auth/authenticator.js";
import type { AgentDirectory, AgentsGiven, AgentsInput } from "../card/agents.js";
import type { CardSigning } from "../card/signing/kept-signatures.js";
import type { ConsoleOptions } from "../console/options.js";
import type { OwnerOf } from "../core/call.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { RemoteAgents } from "../delegation/options.js";
import type { EngineOptions } from "../engine/engine.js";
import type { ProxyHeaders, Trust } from "../http/forwarded.js";
import type { TlsFiles } from "../http/node/tls.js";
import type { PushOptions } from "../push/options.js";
import type { ServiceInterceptor } from "../service/invoke.js";
import type { ServiceOptions } from "../service/options.js";
import type { Signals } from "../signals/signals.js";
import type { TaskStore } from "../store/task-store.js";
import type { TelemetryOption } from "../telemetry/choice.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { Versions } from "../version/versions.js";
import type { Worker } from "../workers/worker.js";
import type { CardGrpc } from "./public-address.js";
import type { TlsPaths } from "./tls-reload.js";

/** Options of `createA2A`. */
export type A2AOptions = CommonOptions & AgentsInput;

/** Options of `createServer`. */
export type ServerOptions = A2AOptions & PortsOptions;

/** Options before the check that there is an agent. */
export type UncheckedOptions = CommonOptions & AgentsGiven & PortsOptions;

interface CommonOptions {
  /** Store of the tasks: `sqliteStore(path)`, or `memoryStore()` for tests. The server closes it. */
  readonly store: TaskStore;
  /**
   * Signals to servers with the same store: `await natsSignals(url)`. The server closes them. Default: the signals of
   * the store, which PostgreSQL has. Without signals, the server sees changes by other servers within a second.
   */
  readonly signals?: Signals;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<Limits>;
  /** Logger of the server; any pino logger fits. Default: no log. */
  readonly logger?: Logger;
  /**
   * Audit log of refused callers, reached limits, failed deliveries, used keys and acts of the server
   * (docs/audit-log.md). True writes to the logger with `channel: "audit"`, through its `child` if it has one. False
   * disables the log. Default true.
   */
  readonly audit?: boolean | AuditLog;
  /**
   * Identifies callers by their credentials, for agents that declare no `security`. It can check what no security
   * scheme describes. Default: every caller is anonymous.
   */
  readonly authenticator?: Authenticator;
  /**
   * Returns the owner of a caller's tasks, such as an organisation whose members share them: `({ claims }) =>
   * claims.org`. It is called once per call with the authenticated caller, never with an anonymous one. Undefined
   * refuses the caller (PERMISSION_DENIED). `caller.subject` keeps the authenticated name. Default: that name.
   */
  readonly ownerOf?: OwnerOf;
  /**
   * Functions around every call of every binding, after authentication, in the order given, such as for rate limits or
   * telemetry. Each has the form `(next) => (invocation) => next(invocation)`. Default: none.
   */
  readonly interceptors?: readonly ServiceInterceptor[];
  /**
   * Creates spans of OpenTelemetry (docs/tracing.md): true by `@opentelemetry/api`, also for an SDK that is registered
   * later; false never. Runtimes other than Node.js take the module `@opentelemetry/api` itself. Default: true if an SDK
   * is registered before the start.
   */
  readonly telemetry?: TelemetryOption;
  /** Protocol versions to serve, by their names in `A2A-Version`. 1.0 is required. Default: all. */
  readonly versions?: readonly string[];
  /**
   * Draft protocol version to serve to callers that name it in `A2A-Version`. It may change with any release until it
   * is final. Default: none.
   */
  readonly preview?: "1.1";
  /**
   * Refuses calls of 1.0 that name no protocol version. Calls of earlier versions never name one and are answered.
   * Default false: the package, method or path implies the version.
   */
  readonly strictVersion?: boolean;
  /**
   * Answers a refused JSON-RPC stream with one event that contains the error, for clients that read only events (the Go
   * library). Default false: a JSON answer.
   */
  readonly streamErrorsAsEvents?: boolean;
  /** Uses a message's id as its idempotency key if the call has no key. Default false. */
  readonly idempotentMessageIds?: boolean;
  /** Time after which ended tasks are deleted, in milliseconds. Default: never. */
  readonly retentionMs?: number;
  /**
   * Number of times a message of an A2A 0.1 client to an ended task may begin another task under the same id and
   * session, with the earlier messages. 0 refuses such messages, as later versions do. With `retentionMs`, a call that
   * names an id reads the heads of this many tasks. Default and maximum 64.
   */
  readonly maxReopens?: number;
  /** Number of times a turn is run again after crashes before its task fails. Default 3. */
  readonly maxRestarts?: number;
  /**
   * Time after the last heartbeat of a process at which other processes take over its running tasks, in milliseconds.
   * Default 15,000. A store that is not shared has no lease: the process that opens it takes over at once.
   */
  readonly leaseMs?: number;
  /**
   * Logs a line at `info` for each call, each refused request and each ended execution. The method of a refused request
   * may be `-`. Default false; `parley serve` logs them on a terminal.
   */
  readonly accessLog?: boolean;
  /**
   * Counts calls, executions, deliveries and more (docs/metrics.md), for `GET /metrics` of the operator's service and
   * for OpenTelemetry. Default false.
   */
  readonly metrics?: boolean;
  /**
   * URL at which clients reach the HTTP port, with its path if it has one. Default: the address at which a trusted
   * proxy was called, or the address that the server listens on. An embedded handler without a trusted proxy uses the
   * host that the client names, so set the URL there, above all if several paths or gRPC lead to it.
   */
  readonly publicUrl?: string;
  /** `host:port` at which clients reach gRPC. Default: the host of the URL, and the gRPC port. */
  readonly grpcPublicUrl?: string;
  /**
   * Form in which cards name gRPC: `address` (`host:port`, specification 4.4.6), `url` (the URL of the HTTP port, which
   * also serves gRPC and must have no path) or `omit`. The last two are for clients that refuse a card with an
   * interface outside the card's origin. Default `address`.
   */
  readonly cardGrpc?: CardGrpc;
  /**
   * Proxies whose headers are trusted: addresses, networks such as `10.0.0.0/8`, or `loopback`, `linklocal`,
   * `uniquelocal`. True trusts every peer. Default: none.
   */
  readonly trustProxy?: boolean | string | readonly string[];
  /**
   * Headers of trusted proxies: `x-forwarded` (`X-Forwarded-For`, `-Proto`, `-Host`, `-Prefix`) or `forwarded` (RFC
   * 7239). The other kind is ignored, because it may come from clients. Default `x-forwarded`.
   */
  readonly proxyHeaders?: ProxyHeaders;
  /**
   * Hosts that requests on the HTTP port may name: host names, or `*.example.com` for all subdomains; true for every
   * host. `localhost`, IP addresses and the host of `publicUrl` are always allowed. Default: no others if only this
   * machine reaches the server, which protects against DNS rebinding; otherwise every host.
   */
  readonly allowedHosts?: true | readonly string[];
  /**
   * Origins whose scripts may call the server, such as `https://app.example.org`; true for every origin. Default: none.
   */
  readonly cors?: boolean | readonly string[];
  /**
   * Shows browsers a page at `/`, and at `/{tenant}` for each of several agents, with the card, commands to copy and a
   * box to talk to the agent. Default: true for a server of its own, false if the handler is embedded.
   */
  readonly page?: boolean;
  /** Time for which clients may cache a card, in seconds. Default 300. */
  readonly cardMaxAgeSeconds?: number;
  /**
   * Signs all cards and serves the public keys at `/.well-known/jwks.json` (specification 8.4). An embedded handler,
   * and a server behind a trusted proxy, also need `publicUrl`. Default: cards are not signed.
   */
  readonly cardSigning?: CardSigning;
  /**
   * Sends push notifications (specification 3.5.3) to the webhooks that clients name. True: every event, unsigned, by
   * https to public addresses only. An object sets more (`PushOptions`). Default: off, and cards say so.
   */
  readonly push?: boolean | PushOptions;
  /**
   * Agents that `turn.call` and `turn.delegate` may name: by name, a URL or an object with URL and credentials
   * (`RemoteAgentOptions`, docs/delegation.md). Code may also pass a URL. Default: none.
   */
  readonly remoteAgents?: RemoteAgents;
  /**
   * The operator's service (docs/admin.md): lists, follows and ends tasks of all owners, and more. `createServer` opens a
   * listener of its own for it, `createA2A` has it as `a2a.admin`. Nothing of it answers elsewhere. Default: none.
   */
  readonly admin?: AdminOptions;
  /**
   * The console (docs/console.md), a web app that talks to agents and looks into tasks: `createServer` serves it at
   * `/console`, `createA2A` has it as `a2a.console`. On a loopback address it opens by a one-time link, elsewhere by the
   * credentials of `admin`. Default: none.
   */
  readonly console?: boolean | ConsoleOptions;
  /** Path below which the handler is mounted, if the framework does not remove it from request URLs. */
  readonly basePath?: string;
}

interface PortsOptions {
  /** HTTP port for every binding; 0 for any free port. Default 8080. */
  readonly port?: number;
  /** gRPC port; 0 for any free port, false for none. Default 50051. */
  readonly grpcPort?: number | false;
  /** Address or name to listen on. Default 127.0.0.1, which only this machine reaches. */
  readonly host?: string;
  /**
   * Descriptors of open sockets that the process was started with, TCP or Unix, instead of ports of its own. `parley
   * serve` takes them from systemd (`LISTEN_FDS`, docs/deploying.md). Default: none.
   */
  readonly sockets?: Sockets;
  /**
   * Lets other processes of the same user listen on both ports too (SO_REUSEPORT), such as the next version of the
   * server. It needs Node.js 22.12 or later and Linux or a BSD. Default false.
   */
  readonly reusePort?: boolean;
  /**
   * Time at shutdown for which calls on open connections are still answered, in milliseconds. Health checks report the
   * shutdown meanwhile, and HTTP/1.1 clients are told to close their connections. After three quarters of it new
   * connections are refused, so that proxies use another server. It ends early when no connection is left.
   * Default 0: new calls are refused at once, and health checks are answered until the end.
   */
  readonly drainDelayMs?: number;
  /** Serves gRPC reflection on both ports, which grpcurl uses. Default true. */
  readonly reflection?: boolean;
  /**
   * TLS 1.2 or later on both ports. Files that are named (`keyFile`, `certFile`, `caFile`) are read again when they
   * change; see also `reloadTls`. Default: cleartext.
   */
  readonly tls?: TlsFiles | TlsPaths;
  /**
   * Time for which browsers use only TLS for this host, in seconds (HSTS, RFC 6797); 0 sends no header. The header is
   * sent over TLS, and if a trusted proxy reports TLS. Default 31,536,000, which is a year.
   */
  readonly hstsMaxAgeSeconds?: number;
}

/** File descriptors of open sockets by purpose. */
export interface Sockets {
  readonly http?: number;
  readonly grpc?: number;
}

/** Options of the operator's service, checked. */
export interface AdminSettings {
  /** Undefined for an embedded handler. */
  readonly address: AdminAddress | undefined;
  readonly access: AdminAccessOptions;
  readonly allowedHosts: true | readonly string[];
  readonly backupFolder: string | undefined;
}

/** Options of the console, checked. */
export interface ConsoleSettings {
  /** See `ConsoleOptions.local`. */
  readonly isLocal: boolean;
  /** True if it is on the HTTP port of the server. */
  readonly isServed: boolean;
}

/** Options that have a default; the others default to undefined. */
export type Defaults = Required<
  Pick<
    UncheckedOptions,
    | "strictVersion"
    | "streamErrorsAsEvents"
    | "idempotentMessageIds"
    | "maxReopens"
    | "maxRestarts"
    | "leaseMs"
    | "audit"
    | "accessLog"
    | "metrics"
    | "cardGrpc"
    | "trustProxy"
    | "proxyHeaders"
    | "cors"
    | "cardMaxAgeSeconds"
    | "basePath"
    | "port"
    | "grpcPort"
    | "host"
    | "sockets"
    | "reusePort"
    | "drainDelayMs"
    | "reflection"
    | "hstsMaxAgeSeconds"
  >
>;

/** Options with their defaults, checked. */
export interface Settings
  extends Omit<Defaults, "audit" | "metrics" | "cors" | "grpcPort">,
    Pick<UncheckedOptions, "store" | "signals" | "telemetry" | "grpcPublicUrl" | "cardSigning"> {
  readonly engine: Pick<EngineOptions, "retentionMs" | "names" | "maxRestarts" | "leaseMs" | "logsEnds">;
  readonly service: Pick<
    ServiceOptions,
    "authenticator" | "ownerOf" | "ignoresSecurity" | "interceptors" | "strictVersion" | "idempotentMessageIds"
  >;
  readonly agents: AgentDirectory;
  readonly versions: Versions;
  readonly limits: Limits;
  readonly logger: Logger;
  /** Undefined if the log is disabled, or has neither a logger nor a receiver. */
  readonly audit: AuditRecorder | undefined;
  /** Undefined if nothing is counted. */
  readonly metrics: Metrics | undefined;
  /** True if the operator's service has `GET /metrics`. */
  readonly servesMetrics: boolean;
  readonly trust: Trust | undefined;
  readonly allowedHosts: true | readonly string[];
  readonly cors: true | readonly string[] | undefined;
  readonly publicUrl: string | undefined;
  // Undefined if no push notifications are sent.
  readonly push: PushOptions | undefined;
  /** True if the process may create and serve a key for notifications of versions that sign them. */
  readonly makesPushKey: boolean;
  readonly remoteAgents: RemoteAgents;
  readonly page: boolean;
  /** Undefined without an operator's service. */
  readonly admin: AdminSettings | undefined;
  readonly console: ConsoleSettings | undefined;
  /** Keeps the latest audit records for operators; undefined without `admin` and `console`. */
  readonly recentAudit: RecentAudit | undefined;
  readonly grpcPort: number | undefined;
  readonly tls: TlsFiles | undefined;
  /** The files of `tls`, if it was given as files. */
  readonly tlsPaths: TlsPaths | undefined;
  /** The link to other workers of the same server; undefined for a server of one process. */
  readonly worker?: Worker | undefined;
}
