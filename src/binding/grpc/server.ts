import type { DescService } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServerOptions } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import type { ByteBudget } from "../byte-budget.js";
import type { GrpcBinding } from "./binding.js";
import { limitIncoming } from "./incoming.js";
import { addablesOf, Infrastructure } from "./infrastructure.js";
import { reflectionServices } from "./reflection.js";

export interface GrpcServerOptions {
  readonly binding: GrpcBinding;
  readonly service: DescService;
  /** Name or address to listen on, such as `0.0.0.0` or `::`. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Certificate chain and key, PEM. Without them the server speaks cleartext HTTP/2. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined;
  readonly limits: Limits;
  /** Counts the bytes of requests until they are here. */
  readonly budget: ByteBudget;
  readonly logger: Logger;
  /** Server reflection, v1 and v1alpha. Default true. */
  readonly reflection?: boolean | undefined;
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
  const { binding, service, logger } = options;
  const server = new Server(serverOptions(options));
  const health = new HealthImplementation({ "": "SERVING", [service.typeName]: "SERVING" });
  const infrastructure = new Infrastructure();
  const own = addablesOf((target) => health.addToServer(target));
  if (options.reflection ?? true) own.push(...reflectionServices(service.file, own));
  for (const { definition, implementation } of own.map((addable) => infrastructure.watched(addable))) {
    server.addService(definition, implementation);
  }
  server.addService(binding.definition, binding.implementation);

  const setServing = (serving: boolean): void => {
    for (const name of ["", service.typeName]) health.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
  };
  let bound: string | undefined;
  let drained: Promise<void> | undefined;
  return {
    listen: async () => {
      const port = await listen(server, options);
      bound = addressOf(options.host, port);
      return port;
    },
    setServing,
    drain: (graceMs) => {
      setServing(false);
      infrastructure.end();
      // Breaks off what is open after the grace; `forceShutdown` finds connections only where channelz is on.
      if (drained === undefined && bound !== undefined) server.drain(bound, graceMs);
      drained ??= shutDown(server, graceMs, logger);
      return drained;
    },
  };
}

function serverOptions({ limits, budget }: GrpcServerOptions): ServerOptions {
  return {
    // Bookkeeping of every call, for a service that is not served here.
    "grpc.enable_channelz": 0,
    "grpc.max_receive_message_length": limits.maxRequestBytes,
    // No connection may open more than the server would serve over all of them.
    "grpc.max_concurrent_streams": limits.maxStreams + limits.maxCalls,
    // Finds out about clients that vanished without a word. Pings of clients are answered however often they come.
    "grpc.keepalive_time_ms": limits.keepAliveMs,
    "grpc.keepalive_timeout_ms": Math.min(PING_TIMEOUT_MS, limits.requestTimeoutMs),
    // As on the HTTP port: whoever says nothing for so long comes again when there is something to say.
    "grpc.max_connection_idle_ms": Math.ceil(limits.requestTimeoutMs * 1.1),
    interceptors: [limitIncoming({ timeoutMs: limits.requestTimeoutMs, budget })],
  };
}

function listen(server: Server, { host, port, tls }: GrpcServerOptions): Promise<number> {
  const credentials =
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(tls.cert), private_key: Buffer.from(tls.key) }]);
  const address = addressOf(host, port);
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(cannotListen(address, error));
    });
  });
}

function addressOf(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** grpc-js keeps only the text of what node:net said. */
function cannotListen(address: string, cause: Error): Error {
  const code = /\bE[A-Z]{4,}\b/.exec(cause.message)?.[0];
  const why = code === "EADDRINUSE" ? "the port is in use" : cause.message;
  return Object.assign(new Error(`The gRPC server cannot listen on ${address}: ${why}.`, { cause }), { code });
}

function shutDown(server: Server, graceMs: number, logger: Logger): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => {
      logger.warn({ graceMs }, "gRPC calls were broken off: their time to end was over");
      server.forceShutdown();
      resolve();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(force);
      resolve();
    });
  });
}
