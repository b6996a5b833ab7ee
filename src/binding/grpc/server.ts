import type { DescService } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServerOptions } from "@grpc/grpc-js";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import type { Arrivals } from "../../http/arrivals.js";
import type { RefusalLog } from "../../service/interceptors/access-log.js";
import type { GrpcBinding } from "./binding.js";
import { limitIncoming } from "./incoming.js";
import { InternalServices } from "./internal-services.js";
import { openPort, type Port, type PortOptions } from "./port.js";
import { guardSessions } from "./session-guard.js";
import { guardStreams } from "./stream-guard.js";

export interface GrpcServerOptions extends PortOptions {
  readonly binding: GrpcBinding;
  readonly service: DescService;
  /** Services of other versions, each with its binding. */
  readonly others?: readonly ServedService[];
  readonly limits: Limits;
  /** Counts requests until they are here. */
  readonly arrivals: Arrivals;
  readonly logger: Logger;
  /** Told of calls that are refused before they are a call of a method; undefined: no one asks. */
  readonly refused?: RefusalLog | undefined;
  /** Server reflection, v1 and v1alpha. Default true. */
  readonly reflection?: boolean | undefined;
  /** Health and reflection, where another port serves them as well. Default: made for this one. */
  readonly infrastructure?: InternalServices | undefined;
}

/** A service with what serves it. */
export interface ServedService {
  readonly service: DescService;
  readonly binding: GrpcBinding;
}

/** A gRPC server with a port of its own. */
export interface GrpcServer {
  /** Starts to listen and gives the port. Rejects when the port cannot be had; `code` says why, as in node:net. */
  listen(): Promise<number>;
  /** What the health service says of the server as a whole and of its service. It begins with true. */
  setServing(serving: boolean): void;
  /**
   * Says NOT_SERVING, accepts no new connection or call, lets open calls end, and after `graceMs` milliseconds breaks
   * off those that have not. Resolves when all is closed; never rejects.
   */
  drain(graceMs: number): Promise<void>;
}

/** How long a client that was pinged may stay silent before its connection is given up. */
const PING_TIMEOUT_MS = 20_000;

/** Creates the server; it serves the binding, the standard health service, and reflection. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { binding, logger, others = [] } = options;
  const server = new Server(serverOptions(options));
  const infrastructure =
    options.infrastructure ?? new InternalServices({ ...options, others: others.map(({ service }) => service) });
  const bindings = [binding, ...others.map((other) => other.binding)];
  for (const { definition, implementation } of [...infrastructure.forGrpc(), ...bindings]) {
    server.addService(definition, implementation);
  }
  guardStreams(server, logger, options.refused);
  const guarded = guardSessions(server, options.limits);
  // The connections that it is given are secure already, where they are to be.
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure());
  const port = openPort(
    options,
    options.limits.requestTimeoutMs,
    guarded((socket) => connections.injectConnection(socket)),
  );
  let drained: Promise<void> | undefined;
  return {
    listen: () => port.listen(),
    setServing: (serving) => infrastructure.setServing(serving),
    drain: (graceMs) => {
      infrastructure.setServing(false);
      infrastructure.end();
      if (drained === undefined) connections.drain(graceMs);
      drained ??= end(port, graceMs, logger).then(() => server.forceShutdown());
      return drained;
    },
  };
}

async function end(port: Port, graceMs: number, logger: Logger): Promise<void> {
  const force = setTimeout(() => {
    logger.warn({ graceMs }, "gRPC calls were broken off: their time to end was over");
    port.destroy();
  }, graceMs);
  await port.close();
  clearTimeout(force);
}

function serverOptions({ limits, arrivals }: GrpcServerOptions): ServerOptions {
  return {
    // Bookkeeping of every call, for a service that is not served here.
    "grpc.enable_channelz": 0,
    "grpc.max_receive_message_length": limits.maxRequestBytes,
    "grpc.max_concurrent_streams": limits.maxStreamsPerConnection,
    // Finds out about clients that vanished without a word. Pings of clients are answered however often they come.
    "grpc.keepalive_time_ms": limits.keepAliveMs,
    "grpc.keepalive_timeout_ms": Math.min(PING_TIMEOUT_MS, limits.requestTimeoutMs),
    // As on the HTTP port: whoever says nothing for so long comes again when there is something to say.
    "grpc.max_connection_idle_ms": Math.ceil(limits.requestTimeoutMs * 1.1),
    interceptors: [limitIncoming({ timeoutMs: limits.requestTimeoutMs, arrivals })],
  };
}
