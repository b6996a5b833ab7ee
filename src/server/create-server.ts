import type { Socket } from "node:net";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { InternalServices } from "../binding/grpc/internal-services.js";
import { laterService } from "../binding/grpc/reflection.js";
import { createGrpcServer, type GrpcServer } from "../binding/grpc/server.js";
import { ConfigurationError } from "../card/faults.js";
import { background, pause, Waiters, within } from "../core/async.js";
import type { Peer } from "../core/call.js";
import { Connections } from "../http/node/connections.js";
import type { NodeHandler } from "../http/node/handler.js";
import { type Listener, listen } from "../http/node/listen.js";
import type { Bound } from "../http/node/listening.js";
import type { TlsFiles } from "../http/node/tls.js";
import { noteMetrics } from "../telemetry/registry.js";
import type { Versions } from "../version/versions.js";
import type { AdminListener } from "./admin-listener.js";
import { cannotListen } from "./cannot-listen.js";
import { composeNode, type NodeComponents, nodeRejectionLog } from "./compose-node.js";
import type { CloseOptions, RunningAgents } from "./create-a2a.js";
import { healthAnswer, type Readiness } from "./health.js";
import { type Lifecycle, storeClose } from "./lifecycle.js";
import type { ServerOptions, Settings } from "./options.js";
import { authority, type PublicAddress } from "./public-address.js";
import { resolveOptions } from "./resolve-options.js";
import { ServedConsole } from "./served-console.js";
import { TlsKeeper, type TlsPaths } from "./tls-reload.js";

/** Options of `close()` for a server with ports. */
interface DrainOptions {
  /** Time for which the server still answers calls, in milliseconds. Default: the option `drainDelayMs`. */
  readonly drainDelayMs?: number;
}

/** Agents on ports of their own. */
export interface Server extends RunningAgents {
  /** URL of the HTTP port for clients on this machine; the card has the one for other clients. */
  readonly url: string;
  /** 0 for a Unix socket. */
  readonly port: number;
  /** Undefined without a gRPC port. */
  readonly grpcPort: number | undefined;
  /** `host:port` of gRPC for clients on this machine. */
  readonly grpcAddress: string | undefined;
  /**
   * URL of the operator's service for operators on this machine, or `unix:` and the path of its socket; undefined
   * without the option `admin`.
   */
  readonly adminUrl: string | undefined;
  /**
   * URL that opens the console in a browser on this machine, with the one-time token of the next session if it opens by
   * links; undefined without the option `console`.
   */
  readonly consoleUrl: string | undefined;
  /** The card of the first agent, as the well-known path serves it to a client without a proxy. */
  readonly card: AgentCard;
  /** State that `/readyz` and gRPC's health service report; `unavailable` while the store cannot be written. */
  readonly readiness: Readiness;
  /**
   * Shuts down in this order: reports that it is draining, waits for `drainDelayMs`, refuses new calls, ends open streams
   * with UNAVAILABLE and a retry delay, waits for running work up to the grace period, closes connections, those of
   * operators last, and closes the store. Further calls return the same promise. It rejects if a step fails, at the
   * latest a few seconds after the grace period. A hanging disk may still hang then.
   */
  close(options?: CloseOptions & DrainOptions): Promise<void>;
  /**
   * Uses other TLS files for new connections on both ports, or reads the current files again. Open connections are not
   * affected. It cannot enable or disable the request for client certificates (`ca`).
   *
   * @throws ConfigurationError for files that cannot be used, and for a server without TLS. Nothing has changed then.
   */
  reloadTls(tls?: TlsFiles | TlsPaths): void;
}

/** Time for complete answers to reach their clients during shutdown, in milliseconds. */
const FLUSH_MS = 1_000;

/** Headers of answers over TLS (RFC 6797, 7.2: never over cleartext). */
function hstsOf({ hstsMaxAgeSeconds }: Settings): Readonly<Record<string, string>> {
  return hstsMaxAgeSeconds === 0 ? {} : { "strict-transport-security": `max-age=${hstsMaxAgeSeconds}` };
}

/**
 * Serves agents on separate ports. It resolves after both ports are open and recovery after a crash has begun. If it
 * fails, the ports are closed and the given store stays open.
 *
 * @throws ConfigurationError that names every wrong option and every fault of a card, or a port that is in use;
 * StoreError if the store cannot be used.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  return openServer(resolveOptions(options));
}

/**
 * Serves agents with resolved options.
 *
 * @throws ConfigurationError for a port that is in use; StoreError if the store cannot be used.
 */
export async function openServer(settings: Settings): Promise<Server> {
  const infrastructure = infrastructureOf(settings);
  const console = settings.console && new ServedConsole(settings, settings.console);
  const components = composeNode(settings, {
    infrastructure,
    secureHeaders: hstsOf(settings),
    health: true,
    console: console?.binding,
  });
  const { limits, logger, host, tls, sockets, reusePort } = settings;
  const start = new Waiters();
  const handler = after(start.wait(), components);
  const connections = new Connections(settings);
  const listener = await listen({
    host,
    port: settings.port,
    fd: sockets.http,
    reusePort,
    source: settings.worker?.source("http"),
    limits,
    logger,
    handler,
    connections,
    onRejection: nodeRejectionLog(components.onRejection, settings.metrics),
    ...(tls && { tls }),
  }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(error, { host, port: settings.port, fd: sockets.http, option: "port (--port)" });
  });
  let grpc: OpenGrpc | undefined;
  let admin: AdminListener | undefined;
  try {
    grpc = await openGrpc(settings, components, { connections, infrastructure });
    noteAddresses(components.address, listener, grpc, tls !== undefined);
    components.lifecycle.onReadiness((readiness) => {
      infrastructure.setServing(readiness === "ready");
      if (readiness === "draining") infrastructure.end();
    });
    admin = await adminListener(settings, components);
    await console?.open(components, serverUrl(settings, listener));
    const { engine } = components;
    settings.worker?.holds(engine.holder);
    settings.worker?.onEnded((holders) => engine.takeOver(holders));
    await components.lifecycle.start();
  } catch (error) {
    const closing = [listener.close(0), grpc?.server.drain(0), admin?.close(0), components.lifecycle.stop(0)];
    await Promise.allSettled(closing);
    throw error;
  }
  start.release();
  loadLater(settings.versions, components.lifecycle);
  const ports = { host: listener.host, port: listener.port, grpcPort: grpc?.port, admin: admin?.url };
  logger.info(ports, "the server is ready");
  const server = serverOf(settings, components, { listener, grpc, admin, connections, console });
  noteMetrics(server, settings.metrics);
  return server;
}

/** @throws ConfigurationError for TLS over a Unix socket. */
function noteAddresses(address: PublicAddress, http: Bound, grpc: Bound | undefined, encrypted: boolean): void {
  if (encrypted && (http.port === 0 || grpc?.port === 0)) {
    throw new ConfigurationError("Cannot listen", ["tls needs TCP, and the server was started with a Unix socket"]);
  }
  address.listening({ ...http, encrypted }, grpc && { ...grpc, encrypted });
}

/** Opens the operator's service. Servers without one do not load it. */
async function adminListener(settings: Settings, components: NodeComponents): Promise<AdminListener | undefined> {
  if (settings.admin === undefined) return undefined;
  const { openAdmin } = await import("./admin-listener.js");
  return openAdmin(settings, settings.admin, components);
}

/** Creates health and reflection. Like `/readyz`, the health service reports when calls are served. */
function infrastructureOf({ versions, reflection }: Settings): InternalServices {
  const infrastructure = new InternalServices({
    service: versions.native.grpc,
    others: versions.others.flatMap(({ name: version, grpc: service }) =>
      service === undefined ? [] : laterService({ service, version, versions }),
    ),
    reflection,
  });
  infrastructure.setServing(false);
  return infrastructure;
}

/** Loading of the versions other than the native one. */
export const versionLoading = {
  /** Delay after the start, in milliseconds, so that first calls do not wait for it. */
  delayMs: 5_000,
} as const;

/** Loads the other versions in the background, unless a call of one of them has loaded them before. */
function loadLater(versions: Versions, lifecycle: Lifecycle): void {
  // After a failure, a call that needs them retries and reports the error.
  const load = (): void => void versions.ready().catch(() => {});
  const timer = background(setTimeout(load, versionLoading.delayMs));
  lifecycle.onReadiness((readiness) => {
    if (readiness === "draining") clearTimeout(timer);
  });
}

interface OpenGrpc extends Bound {
  readonly server: GrpcServer;
}

interface OpenPorts {
  readonly listener: Listener;
  readonly grpc: OpenGrpc | undefined;
  readonly admin: AdminListener | undefined;
  readonly connections: Connections;
  readonly console: ServedConsole | undefined;
}

function serverUrl({ tls }: Settings, listener: Bound): string {
  return `${tls === undefined ? "http" : "https"}://${authority(listener)}`;
}

async function openGrpc(
  settings: Settings,
  components: NodeComponents,
  { connections, infrastructure }: { connections: Connections; infrastructure: InternalServices },
): Promise<OpenGrpc | undefined> {
  const { host, grpcPort = 0, tls, limits, logger, sockets, reusePort } = settings;
  if (settings.grpcPort === undefined && sockets.grpc === undefined) return undefined;
  const { grpcServices: services, inboundBudget, onRejection, counted, unserved } = components;
  const source = settings.worker?.source("grpc");
  const admit = (socket: Socket): boolean => connections.admit(socket);
  const listening = { host, port: grpcPort, fd: sockets.grpc, reusePort, source, tls, admit };
  const { audit } = settings;
  const limited =
    audit &&
    (({ address }: Peer, limit: string) => audit.record({ event: "limit.hit", limit, address, binding: "grpc" }));
  const server = createGrpcServer({
    ...listening,
    services,
    infrastructure,
    limits,
    inboundBudget,
    logger,
    onRejection,
    limited,
    counted,
    unserved,
  });
  try {
    return { server, ...(await server.listen()) };
  } catch (error) {
    const option = "grpcPort (--grpc-port)";
    throw cannotListen(error as NodeJS.ErrnoException, { host, port: grpcPort, fd: sockets.grpc, option });
  }
}

/**
 * Delays requests, except health checks, until the server has started and its addresses are known. If the start fails,
 * their connections are closed.
 */
function after(opened: Promise<void>, { handler, lifecycle }: NodeComponents): NodeHandler {
  return (request, response) => {
    const pathOf = (): string => request.url?.split("?", 1)[0] ?? "";
    const asks = (path: string): boolean => healthAnswer(path, "starting") !== undefined || path.startsWith("/grpc.");
    const now = lifecycle.readiness !== "starting" || asks(pathOf());
    if (now) handler(request, response);
    else void opened.then(() => handler(request, response));
  };
}

function serverOf(settings: Settings, components: NodeComponents, ports: OpenPorts): Server {
  const { limits, logger } = settings;
  const { listener, grpc, admin, console } = ports;
  const { lifecycle } = components;
  const end = async (graceMs: number, drainDelayMs: number): Promise<void> => {
    logger.info({ graceMs, drainDelayMs }, "the server ends");
    lifecycle.announceDrain();
    listener.announceDrain();
    grpc?.server.announceDrain();
    if (drainDelayMs > 0) await lastCalls(settings, ports, drainDelayMs);
    console?.close();
    listener.drain();
    // Open calls are answered when the engine ends, and get a moment to deliver the answer.
    const grpcDrained = grpc?.server.drain(graceMs + limits.cancelGraceMs + FLUSH_MS);
    if (drainDelayMs > 0 && ports.connections.size > 0) await pause(Math.min(ARRIVED_MS, drainDelayMs), undefined);
    // Refuses new calls from here on.
    await lifecycle.close(graceMs, async () => {
      await Promise.all([listener.close(FLUSH_MS), grpcDrained]);
      // Closes the operator's service last, so that operators can watch the drain, but before the store that it uses.
      await admin?.close(FLUSH_MS);
    });
    logger.info({}, "the server has ended");
  };
  // Enough time for all steps, unless the store hangs.
  const storeMs = Math.max(limits.cancelGraceMs, storeClose.timeoutMs);
  const latest = (graceMs: number): number => graceMs + storeMs + 4 * FLUSH_MS;
  let ended: Promise<void> | undefined;
  const tlsPorts = [listener, grpc?.server, admin].filter((port) => port !== undefined);
  const keeper = tlsKeeperOf(settings, tlsPorts);
  return {
    url: serverUrl(settings, listener),
    port: listener.port,
    grpcPort: grpc?.port,
    grpcAddress: grpc && authority(grpc),
    adminUrl: admin?.url,
    get consoleUrl() {
      return console?.url;
    },
    card: components.card(),
    push: components.push,
    remoteAgents: components.remoteAgents,
    get running() {
      return lifecycle.running;
    },
    get readiness() {
      return lifecycle.readiness;
    },
    onReadiness: (listener) => lifecycle.onReadiness(listener),
    failureSignal: lifecycle.failureSignal,
    reloadTls: (given) => {
      if (keeper === undefined) throw new ConfigurationError("Invalid options", ["the server has no tls"]);
      keeper.reload(given);
    },
    close: ({ graceMs = limits.shutdownGraceMs, drainDelayMs = settings.drainDelayMs } = {}) => {
      keeper?.end();
      ended ??= inTime(end(graceMs, drainDelayMs), drainDelayMs + latest(graceMs));
      return ended;
    },
  };
}

/** Interval between polls of the number of open connections, in milliseconds. */
const POLL_MS = 20;

/** Part of the drain delay in which connections are still accepted. Their first call comes in the rest of it. */
const ACCEPTING = 3 / 4;

/**
 * Time between the end of connections and the refusal of calls, in milliseconds. In this time, calls begin whose
 * requests are still waiting for the rest of their bodies or for an identity provider.
 */
const ARRIVED_MS = 100;

/**
 * Additional time for clients that have connected and not sent a request yet, in milliseconds. A proxy on a busy machine
 * may take so long, and nginx does not repeat a gRPC call that ends with a GOAWAY.
 */
const SILENT_MS = 1_000;

/** Waits for the time in which calls may still begin: on new connections first, then on open ones alone. */
async function lastCalls(
  { sockets, reusePort, worker }: Settings,
  { listener, grpc, connections }: OpenPorts,
  drainDelayMs: number,
): Promise<void> {
  const isWorker = worker !== undefined;
  const shares = isWorker
    ? worker.isReplaced
    : reusePort || (sockets.http !== undefined && (grpc === undefined || sockets.grpc !== undefined));
  let end = performance.now() + drainDelayMs;
  if (!shares) {
    await pause(drainDelayMs * ACCEPTING, undefined);
    await Promise.all([listener.stopAccepting(), grpc?.server.stopAccepting()]);
    // Measured again, because timers fire late in a busy process.
    end = performance.now() + drainDelayMs * (1 - ACCEPTING);
  }
  const latest = end + SILENT_MS;
  const isOpen = (): boolean => (performance.now() < end ? connections.size > 0 : connections.awaitsBytes);
  while (performance.now() < latest && isOpen()) await pause(Math.min(POLL_MS, drainDelayMs), undefined);
}

function tlsKeeperOf(
  { tls, tlsPaths, logger, audit }: Settings,
  ports: readonly Pick<Listener, "setTls">[],
): TlsKeeper | undefined {
  if (tls === undefined) return undefined;
  const setters = ports.map((port) => (files: Parameters<Listener["setTls"]>[0]) => port.setTls(files));
  return new TlsKeeper({ files: tls, paths: tlsPaths, ports: setters, logger, audit });
}

/** @throws if the work takes longer. */
async function inTime(work: Promise<void>, ms: number): Promise<void> {
  if (!(await within(ms, work))) throw new Error(`The server could not end within ${ms} ms: something hangs.`);
}
