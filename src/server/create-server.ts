import type { Socket } from "node:net";
import { A2AService, type AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { InternalServices } from "../binding/grpc/internal-services.js";
import { createGrpcServer, type GrpcServer } from "../binding/grpc/server.js";
import { within } from "../core/within.js";
import { Connections } from "../http/node/connections.js";
import type { NodeHandler } from "../http/node/handler.js";
import { type Listener, listen } from "../http/node/listen.js";
import { cannotListen } from "./cannot-listen.js";
import { composeNode, type NodeComponents } from "./compose-node.js";
import type { CloseOptions } from "./create-a2a.js";
import { healthAnswer, type Readiness } from "./health.js";
import { resolveOptions, type ServerOptions, type Settings } from "./options.js";
import { authority } from "./public-address.js";

/** Agents on ports of their own. */
export interface Server {
  /** URL of the HTTP port for clients on this machine; what other clients use stands in the card. */
  readonly url: string;
  readonly port: number;
  /** Undefined when gRPC has no port. */
  readonly grpcPort: number | undefined;
  /** `host:port` of gRPC for clients on this machine. */
  readonly grpcAddress: string | undefined;
  /** The card of the first agent, as the well-known path shows it to whoever comes by no proxy. */
  readonly card: AgentCard;
  /** How many agents are at work for a task in this process. */
  readonly running: number;
  /** What `/readyz` and the health service of gRPC say; `unavailable` while the store cannot be written. */
  readonly readiness: Readiness;
  /** Calls back at every change of the readiness. The result takes the wish back. */
  onReadiness(listener: (readiness: Readiness) => void): () => void;
  /**
   * Resolves when the store has been out of order for `limits.storeRecoveryMs` and only opening it anew may help, as
   * when its file was removed: close, and start again. It stays pending otherwise.
   */
  readonly failure: Promise<Error>;
  /**
   * Ends in order: not ready any more, new calls refused, open streams ended with an invitation to resume, running
   * work given its grace, connections closed, the store last. Later calls wait for the same end. It rejects when not all
   * of it could be done, a few seconds after the grace at the latest: what hangs then, such as a disk, hangs still.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** How long answers that are complete may take to reach their clients at the end, in milliseconds. */
const FLUSH_MS = 1_000;

/** One year, in the seconds of HSTS (RFC 6797, 6.1.1). */
const HSTS_SECONDS = 31_536_000;

/**
 * Serves agents on ports of their own. It resolves when both ports are open and what a crash left behind is taken over.
 * When it fails, nothing stays open but the store, which it was given.
 *
 * @throws ConfigurationError that names every wrong option and every fault of a card, or the port that is taken;
 * StoreError when the store cannot be used.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  const settings = resolveOptions(options);
  // Like `/readyz`, its health says so when calls are served.
  const infrastructure = new InternalServices({ service: A2AService });
  infrastructure.setServing(false);
  const components = composeNode(settings, {
    infrastructure,
    headers: settings.tls === undefined ? {} : { "strict-transport-security": `max-age=${HSTS_SECONDS}` },
    health: true,
  });
  const { limits, logger, host, tls } = settings;
  const opened = deferred();
  const handler = after(opened.promise, components);
  const connections = new Connections(settings);
  const listener = await listen({
    host,
    port: settings.port,
    limits,
    logger,
    handler,
    connections,
    ...(tls && { tls }),
  }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(error, { host, port: settings.port, option: "port (--port)" });
  });
  let grpc: OpenGrpc | undefined;
  try {
    grpc = await openGrpc(settings, components, { connections, infrastructure });
    const listening = { host, encrypted: tls !== undefined };
    components.address.listening({ ...listening, port: listener.port }, grpc && { ...listening, port: grpc.port });
    components.lifecycle.onReadiness((readiness) => {
      infrastructure.setServing(readiness === "ready");
      if (readiness === "draining") infrastructure.end();
    });
    await components.lifecycle.start();
  } catch (error) {
    await Promise.allSettled([listener.close(0), grpc?.server.drain(0), components.lifecycle.stop(0)]);
    throw error;
  }
  opened.resolve();
  logger.info({ host, port: listener.port, grpcPort: grpc?.port }, "the server is ready");
  return serverOf(settings, components, listener, grpc);
}

interface OpenGrpc {
  readonly server: GrpcServer;
  readonly port: number;
}

async function openGrpc(
  settings: Settings,
  components: NodeComponents,
  { connections, infrastructure }: { connections: Connections; infrastructure: InternalServices },
): Promise<OpenGrpc | undefined> {
  const { host, grpcPort: port, tls, limits, logger } = settings;
  if (port === undefined) return undefined;
  const { grpc: binding, arrivals } = components;
  const admit = (socket: Socket): boolean => connections.admit(socket);
  const listening = { host, port, tls, admit };
  const serving = { binding, service: A2AService, infrastructure };
  const server = createGrpcServer({ ...listening, ...serving, limits, arrivals, logger });
  try {
    return { server, port: await server.listen() };
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, { host, port, option: "grpcPort (--grpc-port)" });
  }
}

/**
 * Lets requests wait until the server is open, when its addresses are known and its tasks are in order; but not those
 * that ask for just that. Where it does not come to that, their connections are closed.
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

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function serverOf(
  settings: Settings,
  components: NodeComponents,
  listener: Listener,
  grpc: OpenGrpc | undefined,
): Server {
  const { host, tls, limits, logger } = settings;
  const { lifecycle } = components;
  const end = async (graceMs: number): Promise<void> => {
    logger.info({ graceMs }, "the server ends");
    lifecycle.beginDrain();
    listener.drain();
    // Refuses new calls at once. Those that are open get an answer when the engine ends, and a moment to carry it.
    const grpcDrained = grpc?.server.drain(graceMs + limits.cancelGraceMs + FLUSH_MS);
    await lifecycle.close(graceMs, async () => {
      await Promise.all([listener.close(FLUSH_MS), grpcDrained]);
    });
    logger.info({}, "the server has ended");
  };
  // All of it but what hangs in the store is over by then.
  const storeMs = Math.max(limits.cancelGraceMs, limits.closeTimeoutMs);
  const latest = (graceMs: number): number => graceMs + storeMs + 3 * FLUSH_MS;
  let ended: Promise<void> | undefined;
  return {
    url: `${tls === undefined ? "http" : "https"}://${authority({ host, port: listener.port })}`,
    port: listener.port,
    grpcPort: grpc?.port,
    grpcAddress: grpc && authority({ host, port: grpc.port }),
    card: components.card(),
    get running() {
      return lifecycle.running;
    },
    get readiness() {
      return lifecycle.readiness;
    },
    onReadiness: (listener) => lifecycle.onReadiness(listener),
    failure: lifecycle.failure,
    close: ({ graceMs = limits.shutdownGraceMs } = {}) => {
      ended ??= inTime(end(graceMs), latest(graceMs));
      return ended;
    },
  };
}

/** @throws when it takes longer. */
async function inTime(work: Promise<void>, ms: number): Promise<void> {
  if (!(await within(ms, work))) throw new Error(`The server could not end within ${ms} ms: something hangs.`);
}
