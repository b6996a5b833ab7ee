import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Peer } from "../../core/call.js";
import { type A2AError, StatusCode } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import type { Arrivals } from "../../http/arrivals.js";
import { createHttp2Sessions } from "../../http/node/http2-sessions.js";
import { peerOf } from "../../http/node/peer.js";
import type { TlsFiles } from "../../http/node/tls.js";
import type { HttpRequest } from "../../http/request.js";
import type { RefusalLog } from "../../service/interceptors/access-log.js";
import { grpcTimeoutMs, VERSION_PARAMETER } from "../../wire/service-params.js";
import { deadlineFault } from "../deadline.js";
import { ACCEPTED, isKnownEncoding } from "./compression.js";
import { type GrpcStatus, statusOf } from "./error.js";
import { dropRest, Exchange, type ExchangeStart } from "./exchange.js";
import { type Incoming, LateRequests } from "./incoming.js";
import { internalMethods } from "./internal-methods.js";
import { InternalServices } from "./internal-services.js";
import { type GrpcServices, methodsByPath, type ServedMethod, SharedPath } from "./methods.js";
import { openPort, type Port, type PortOptions } from "./port.js";
import { laterService } from "./reflection.js";
import { watchStream } from "./refusals.js";

export interface GrpcServerOptions extends PortOptions {
  /** The services, each with what answers its calls; the first one is that of the newest version. */
  readonly services: GrpcServices;
  readonly limits: Limits;
  /** Counts requests until they are here. */
  readonly arrivals: Arrivals;
  readonly logger: Logger;
  /** Told of calls that are refused before they are a call of a method; undefined: no one asks. */
  readonly refused?: RefusalLog | undefined;
  /** Told of requests that a limit keeps out before they are a call; undefined: no one asks. */
  readonly limited?: ((peer: Peer, limit: string) => void) | undefined;
  /** The error for a path that nothing is served under, where more is known of it than that; undefined: nothing is. */
  readonly unserved?: ((path: string, from: Pick<HttpRequest, "header" | "peer">) => A2AError | undefined) | undefined;
  /** Server reflection, v1 and v1alpha. Default true. */
  readonly reflection?: boolean | undefined;
  /** Health and reflection, where another port serves them as well. Default: made for this one. */
  readonly infrastructure?: InternalServices | undefined;
}

/** A gRPC server with a port of its own. */
export interface GrpcServer {
  /** Starts to listen and gives the port. Rejects when the port cannot be had; `code` says why, as in node:net. */
  listen(): Promise<number>;
  /** What the health service says of the server as a whole and of its service. It begins with true. */
  setServing(serving: boolean): void;
  /** Uses other TLS files for new connections; those that are open go on. For a server that speaks TLS. */
  setTls(files: TlsFiles): void;
  /**
   * Says NOT_SERVING, accepts no new connection or call, lets open calls end, and after `graceMs` milliseconds breaks
   * off those that have not. Resolves when all is closed; never rejects.
   */
  drain(graceMs: number): Promise<void>;
}

/** Characters of an unknown path that are repeated in the answer. */
const MAX_PATH = 200;

/** How long a client may leave a ping unanswered before its connection is closed. */
const PING_TIMEOUT_MS = 20_000;

/** Creates the server; it serves the services, the standard health service, and reflection. */
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
      // The types of Node.js 20 do not know the last argument.
      const begin = (
        stream: ServerHttp2Stream,
        headers: IncomingHttpHeaders,
        _flags: number,
        rawHeaders: readonly string[],
      ): void => calls.begin({ stream, headers, rawHeaders, peer });
      session.on("stream", begin as (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void);
    },
    // Detects clients that vanished without closing their connection.
    keepAliveMs: limits.keepAliveMs,
    requestTimeoutMs: Math.min(PING_TIMEOUT_MS, limits.requestTimeoutMs),
    // As on the HTTP port: a connection that is idle for so long is closed, and its client opens another one when needed.
    idleTimeoutMs: Math.ceil(limits.requestTimeoutMs * 1.1),
    maxStreams: limits.maxStreamsPerConnection,
  });
  const port = openPort(options, limits.requestTimeoutMs, (socket) => sessions.accept(socket));
  let drained: Promise<void> | undefined;
  return {
    listen: () => port.listen(),
    setTls: (files) => port.setTls(files),
    setServing: (serving) => infrastructure.setServing(serving),
    drain: (graceMs) => {
      infrastructure.setServing(false);
      infrastructure.end();
      drained ??= end(port, graceMs, logger);
      sessions.drain();
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

const TIMEOUT = "grpc-timeout";
const ENCODING = "grpc-encoding";

/** What stands at the beginning of the media type of gRPC; its messages are those of protobuf. */
const MEDIA_TYPE = /^application\/grpc(?:\+proto)?(?:$|[; ])/i;

/** Looks at the heads of calls, and hands them to their methods (PROTOCOL-HTTP2, "Request-Headers"). */
class Calls {
  readonly #methods: ReadonlyMap<string, ServedMethod | SharedPath>;
  readonly #incoming: Incoming;
  readonly #logger: Logger;
  readonly #refused: RefusalLog | undefined;
  readonly #unserved: GrpcServerOptions["unserved"];

  constructor(
    { services, limits, arrivals, logger, refused, limited, unserved }: GrpcServerOptions,
    infrastructure: InternalServices,
  ) {
    this.#methods = new Map([...internalMethods(infrastructure, { logger }), ...methodsByPath(services)]);
    this.#incoming = { arrivals, late: new LateRequests(limits.requestTimeoutMs), limited };
    this.#logger = logger;
    this.#refused = refused;
    this.#unserved = unserved;
  }

  begin(start: Omit<ExchangeStart, "impliedVersion">): void {
    const { stream, headers, rawHeaders, peer } = start;
    try {
      if (this.#refused !== undefined) watchStream(stream, headers, { peer, refused: this.#refused });
      // An error without a listener would end the process.
      stream.on("error", ignore);
      if (stream.destroyed || stream.closed || !isGrpc(stream, headers)) return;
      const found = this.#methods.get(headers[":path"] ?? "");
      const method = found instanceof SharedPath ? found.of(headers[VERSION_PARAMETER]) : found;
      const exchange = new Exchange({ stream, headers, rawHeaders, peer, impliedVersion: method?.version ?? "" });
      if (method === undefined) return exchange.fail(this.#unknown(headers, peer));
      if (headers[ENCODING] !== undefined && !isKnownEncoding(String(headers[ENCODING]))) {
        return exchange.fail(unknownEncoding());
      }
      if (headers[TIMEOUT] !== undefined && !isInTime(exchange, String(headers[TIMEOUT]))) return;
      method.begin(exchange, this.#incoming);
    } catch (error) {
      this.#logger.error({ err: error }, "a call of gRPC could not be begun");
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  #unknown(headers: IncomingHttpHeaders, peer: Peer): GrpcStatus {
    const path = headers[":path"] ?? "";
    const header = (name: string): string | undefined => headers[name]?.toString();
    const error = this.#unserved?.(path, { peer, header });
    return error === undefined ? unknownMethod(path) : statusOf(error);
  }
}

/** Whether a stream is a call of gRPC; it is answered in HTTP's own way if not. */
function isGrpc(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
  const isPost = headers[":method"] === "POST";
  if (isPost && MEDIA_TYPE.test(headers["content-type"] ?? "")) return true;
  stream.respond(isPost ? { ":status": 415 } : { ":status": 405, allow: "POST" }, { endStream: true });
  setImmediate(dropRest, stream);
  return false;
}

/** Begins the time that a client gives its call; the call is refused where there is none. */
function isInTime(exchange: Exchange, timeout: string): boolean {
  const timeoutMs = grpcTimeoutMs(timeout);
  const fault = deadlineFault(timeoutMs);
  if (fault === "endless") return true;
  if (fault === undefined) exchange.limit(timeoutMs ?? 0);
  else exchange.fail(statusOf(fault));
  return fault === undefined;
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

function ignore(): void {}
