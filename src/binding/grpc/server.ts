import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { ignore } from "../../core/async.js";
import { type A2AError, StatusCode, statusNameOf } from "../../core/error.js";
import { REQUEST_ID_HEADER, requestIdOf } from "../../core/ids.js";
import { type Logger, requestFacts } from "../../core/log.js";
import { createHttp2Sessions } from "../../http/node/http2-sessions.js";
import { type Bound, isShared } from "../../http/node/listening.js";
import { peerOf } from "../../http/node/peer.js";
import type { TlsFiles } from "../../http/node/tls.js";
import type { HttpRequest } from "../../http/request.js";
import type { RejectionLog } from "../../service/interceptors/access-log.js";
import { isGrpcProtoType } from "../../wire/media-type.js";
import { grpcTimeoutMs, VERSION_PARAMETER } from "../../wire/service-params.js";
import type { BindingOptions } from "../binding.js";
import { deadlineFault } from "../deadline.js";
import { ACCEPTED, isKnownEncoding } from "./compression.js";
import { type GrpcStatus, statusOf } from "./error.js";
import { dropRest, type ExchangeStart, GrpcExchange } from "./exchange.js";
import { type GrpcRequestRules, RequestTimeouts } from "./incoming.js";
import { internalMethods } from "./internal-methods.js";
import { InternalServices } from "./internal-services.js";
import { type GrpcServices, methodsByPath, type ServedMethod, SharedPath } from "./methods.js";
import { openPort, type Port, type PortOptions } from "./port.js";
import { laterService } from "./reflection.js";
import { watchStream } from "./rejections.js";

export interface GrpcServerOptions
  extends PortOptions,
    Omit<GrpcRequestRules, "timeouts">,
    Pick<BindingOptions, "limits" | "logger" | "onRejection"> {
  /** The services with their `invoke`. The first one is that of the native version. */
  readonly services: GrpcServices;
  /** Returns a more specific error for an unknown path, such as one of a disabled version, or undefined. */
  readonly unserved?:
    | ((path: string, from: Pick<HttpRequest, "header" | "peer" | "requestId">) => A2AError | undefined)
    | undefined;
  /** Server reflection, v1 and v1alpha. Default true. */
  readonly reflection?: boolean | undefined;
  /** Health and reflection, if shared with another port. Default: created for this port. */
  readonly infrastructure?: InternalServices | undefined;
}

/** A gRPC server with a port of its own. */
export interface GrpcServer {
  /** Starts to listen. Rejects if it cannot listen; `code` is the error code of node:net. */
  listen(): Promise<Bound>;
  /** Sets the health of the whole server and of its services, initially true. */
  setServing(serving: boolean): void;
  /** Uses other TLS files for new connections; open ones continue. For a server with TLS. */
  setTls(files: TlsFiles): void;
  /** Reports NOT_SERVING. Leaves new connections to other processes if they share the port. */
  announceDrain(): void;
  /** Accepts no more connections than those that already wait, and asks clients for another one with their next call. */
  stopAccepting(): Promise<void>;
  /**
   * Reports NOT_SERVING, rejects new connections and calls, and lets open calls end for `graceMs` milliseconds before
   * it closes them. Resolves when everything is closed; never rejects.
   */
  drain(graceMs: number): Promise<void>;
}

/** Maximum number of characters of an unknown path repeated in the answer. */
const MAX_PATH = 200;

/** Time for a client to answer a ping before its connection is closed, in milliseconds. */
const PING_TIMEOUT_MS = 20_000;

/** Creates the server, with the services, the standard health service and reflection. */
export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { limits, logger, services } = options;
  const [{ service }, ...others] = services;
  const infrastructure =
    options.infrastructure ??
    new InternalServices({ service, others: others.map(laterService), reflection: options.reflection });
  const calls = new Calls(options, infrastructure);
  const sessions = createHttp2Sessions({
    begun: (session, socket) => {
      const peer = peerOf({ socket });
      // The types of Node.js 20 lack the last argument.
      const begin = (
        stream: ServerHttp2Stream,
        headers: IncomingHttpHeaders,
        _flags: number,
        rawHeaders: readonly string[],
      ): void => calls.begin({ stream, headers, rawHeaders, peer });
      session.on("stream", begin as (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void);
    },
    requestTimeoutMs: Math.min(PING_TIMEOUT_MS, limits.requestTimeoutMs),
    // Like the HTTP port, closes idle connections; their clients reconnect when needed.
    idleTimeoutMs: Math.ceil(limits.requestTimeoutMs * 1.1),
  });
  const port = openPort(options, limits.requestTimeoutMs, (socket) => sessions.accept(socket));
  let drained: Promise<void> | undefined;
  return {
    listen: () => port.listen(),
    setTls: (files) => port.setTls(files),
    setServing: (serving) => infrastructure.setServing(serving),
    announceDrain: () => {
      infrastructure.setServing(false);
      if (isShared(options)) sessions.announceDrain();
      port.announceDrain();
    },
    stopAccepting: async () => {
      await port.stopAccepting();
      sessions.announceDrain();
    },
    drain: (graceMs) => {
      infrastructure.setServing(false);
      infrastructure.end();
      drained ??= closePort(port, graceMs, logger);
      sessions.drain();
      return drained;
    },
  };
}

async function closePort(port: Port, graceMs: number, logger: Logger): Promise<void> {
  const force = setTimeout(() => {
    logger.warn({ graceMs }, "gRPC calls were aborted at the end of the grace period");
    port.destroy();
  }, graceMs);
  await port.close();
  clearTimeout(force);
}

const TIMEOUT = "grpc-timeout";
const ENCODING = "grpc-encoding";

/** Checks the headers of calls and passes the calls to their methods (PROTOCOL-HTTP2, "Request-Headers"). */
class Calls {
  readonly #methods: ReadonlyMap<string, ServedMethod | SharedPath>;
  readonly #rules: GrpcRequestRules;
  readonly #logger: Logger;
  readonly #onRejection: RejectionLog | undefined;
  readonly #unserved: GrpcServerOptions["unserved"];

  constructor(
    { services, limits, inboundBudget, logger, onRejection, limited, counted, unserved }: GrpcServerOptions,
    infrastructure: InternalServices,
  ) {
    this.#methods = new Map([...internalMethods(infrastructure, { logger }), ...methodsByPath(services)]);
    this.#rules = { inboundBudget, timeouts: new RequestTimeouts(limits.requestTimeoutMs), limited, counted };
    this.#logger = logger;
    this.#onRejection = onRejection;
    this.#unserved = unserved;
  }

  begin(start: Omit<ExchangeStart, "impliedVersion">): void {
    const { stream, headers, rawHeaders, peer } = start;
    let exchange: GrpcExchange | undefined;
    try {
      if (this.#onRejection !== undefined) watchStream(stream, headers, { peer, onRejection: this.#onRejection });
      // An error without a listener would end the process.
      stream.on("error", ignore);
      if (stream.destroyed || stream.closed || !isGrpc(stream, headers)) return;
      const found = this.#methods.get(headers[":path"] ?? "");
      const method = found instanceof SharedPath ? found.of(headers[VERSION_PARAMETER]) : found;
      exchange = new GrpcExchange({ stream, headers, rawHeaders, peer, impliedVersion: method?.version ?? "" });
      if (method === undefined) return this.#reject(exchange, this.#unknown(headers, exchange));
      if (headers[ENCODING] !== undefined && !isKnownEncoding(String(headers[ENCODING]))) {
        return this.#reject(exchange, unknownEncoding());
      }
      const fault = headers[TIMEOUT] === undefined ? undefined : timeLimit(exchange, String(headers[TIMEOUT]));
      if (fault !== undefined) return this.#reject(exchange, fault);
      method.begin(exchange, this.#rules);
    } catch (error) {
      this.#logger.error({ err: error, ...(exchange && requestFacts(exchange)) }, "a call of gRPC could not be begun");
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  #reject(exchange: GrpcExchange, status: GrpcStatus): void {
    this.#rules.counted?.(statusNameOf(status.code));
    exchange.fail(status);
  }

  #unknown(headers: IncomingHttpHeaders, exchange: GrpcExchange): GrpcStatus {
    const path = headers[":path"] ?? "";
    const error = this.#unserved?.(path, exchange);
    return error === undefined ? unknownMethod(path) : statusOf(error);
  }
}

/** Returns true if a stream is a gRPC call. Otherwise it answers with an HTTP error. */
function isGrpc(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
  const isPost = headers[":method"] === "POST";
  if (isPost && isGrpcProtoType(headers["content-type"])) return true;
  const requestId = requestIdOf(headers[REQUEST_ID_HEADER]?.toString());
  const status = isPost ? { ":status": 415 } : { ":status": 405, allow: "POST" };
  stream.respond({ ...status, [REQUEST_ID_HEADER]: requestId }, { endStream: true });
  setImmediate(dropRest, stream);
  return false;
}

/** Starts the timeout that the client has set. @returns the status of a call whose timeout is zero or malformed */
function timeLimit(exchange: GrpcExchange, timeout: string): GrpcStatus | undefined {
  const timeoutMs = grpcTimeoutMs(timeout);
  const fault = deadlineFault(timeoutMs);
  if (fault === undefined) exchange.limit(timeoutMs ?? 0);
  return fault === undefined || fault === "endless" ? undefined : statusOf(fault);
}

function unknownMethod(path: string): GrpcStatus {
  const shown = path.slice(0, MAX_PATH).replace(/\p{Surrogate}/gu, "\ufffd");
  return { code: StatusCode.UNIMPLEMENTED, message: `The server does not implement the method ${shown}` };
}

function unknownEncoding(): GrpcStatus {
  return {
    code: StatusCode.UNIMPLEMENTED,
    message: `Requests may be compressed as one of ${ACCEPTED}.`,
    headers: [["grpc-accept-encoding", ACCEPTED]],
  };
}
