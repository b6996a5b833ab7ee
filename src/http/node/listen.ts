import * as http from "node:http";
import * as https from "node:https";
import type { Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import { TransientSet } from "../../core/maps.js";
import type { Connections } from "./connections.js";
import { createHttp2Sessions, type Http2Sessions } from "./http2-sessions.js";
import { type Bound, closedWith, isShared, type ListenAddress, listenAt, stopAccepting } from "./listening.js";
import { type NodeRejection, rejectInTurn } from "./parse-errors.js";
import { secureOptions, type TlsFiles } from "./tls.js";
import type { NodeServerRequest, NodeServerResponse } from "./types.js";
import { closeWithConnection } from "./waiting-answers.js";

export interface ListenOptions extends ListenAddress {
  readonly tls?: TlsFiles;
  readonly limits: Limits;
  /** The connections of all ports. */
  readonly connections: Connections;
  readonly handler: (request: NodeServerRequest, response: NodeServerResponse) => void;
  readonly logger: Logger;
  /**
   * Receives input that Node.js refuses itself, because it is not a valid request. Undefined if neither log nor audit
   * needs it.
   */
  readonly onRejection?: ((rejection: NodeRejection) => void) | undefined;
}

/** One open port that speaks HTTP/1.1 and HTTP/2. */
export interface Listener extends Bound {
  /**
   * If other processes share the port, leaves new connections to them, and asks clients for another connection with
   * each answer. Clients of a port that is not shared would connect to this process again.
   */
  announceDrain(): void;
  /** Announces the end of all connections, and closes idle ones. */
  drain(): void;
  /**
   * Accepts no more connections than those that already wait, so that proxies go to another server, and asks clients for
   * another connection with each answer.
   */
  stopAccepting(): Promise<void>;
  /** Accepts no new connections, gives the open ones `graceMs` milliseconds to end, then closes them. */
  close(graceMs: number): Promise<void>;
  /** Uses other TLS files for new connections, on a port with TLS. Open connections are not affected. */
  setTls(files: TlsFiles): void;
}

/**
 * Opens a port for HTTP/1.1 and HTTP/2 together: with TLS the client chooses by ALPN, without TLS by its first bytes.
 * Clients that are slow with their handshake, headers or body are disconnected after `requestTimeoutMs`.
 *
 * @throws the system's error if the port is in use or not permitted, or the host is not an address of this machine.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { requestTimeoutMs } = options.limits;
  const draining = trackDrain(options.handler);
  // A proxy keeps idle connections, usually for 60 seconds, and has to close them first: a request that it sends while
  // the server closes the connection is lost.
  const idleTimeoutMs = Math.ceil(requestTimeoutMs * 1.1);
  const server = createHttp1(options, draining.handler, idleTimeoutMs);
  rejectInTurn(server, { open: draining.open, onRejection: options.onRejection });
  const sessions = createHttp2Sessions({
    handler: options.handler,
    requestTimeoutMs,
    idleTimeoutMs,
  });
  const undecided = routeByProtocol(server, sessions, options);
  const sockets = trackSockets(server, options.connections);
  const { logger } = options;
  const failed = (error: Error): void => logger.error({ err: error }, "a connection could not be accepted");
  const bound = await listenAt(server, options, failed);
  const announceDrain = (): void => {
    draining.announce();
    sessions.announceDrain();
  };
  const drain = (): void => {
    draining.begin(() => server.closeIdleConnections());
    sessions.drain();
    server.closeIdleConnections();
  };
  return {
    ...bound,
    announceDrain: () => {
      if (!isShared(options)) return;
      announceDrain();
      void stopAccepting(server, options.source);
    },
    drain,
    stopAccepting: async () => {
      await stopAccepting(server, options.source);
      announceDrain();
    },
    setTls: (files) => {
      if ("setSecureContext" in server) server.setSecureContext(secureOptions(files));
    },
    close: async (graceMs) => {
      drain();
      options.source?.stop();
      const closed = closedWith(server, sockets);
      for (const abandon of undecided) abandon();
      const cutOff = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(cutOff);
    },
  };
}

type Http1Server = http.Server | https.Server;

/** Tracks the open connections that were admitted. The server does not see rejected ones. */
function trackSockets(server: Server, connections: Connections): Set<Socket> {
  const sockets = new Set<Socket>();
  function closed(this: Socket): void {
    sockets.delete(this);
  }
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    if (!connections.admit(socket)) return;
    sockets.add(socket);
    socket.on("close", closed);
    for (const listener of listeners) listener.call(server, socket);
  });
  return sockets;
}

function createHttp1(
  { tls, limits: { requestTimeoutMs } }: ListenOptions,
  handler: http.RequestListener,
  keepAliveTimeout: number,
): Http1Server {
  const times: http.ServerOptions = {
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(requestTimeoutMs / 4)),
    keepAliveTimeout,
    // Detects clients that disappeared while a stream was silent.
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
  };
  if (tls === undefined) return http.createServer(times, handler);
  const secure: https.ServerOptions = {
    ...times,
    ...secureOptions(tls),
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: requestTimeoutMs,
  };
  return https.createServer(secure, handler);
}

/**
 * Passes each connection to HTTP/1.1 or HTTP/2. The HTTP/1.1 server continues to listen, because Node.js applies the
 * timeouts of headers and requests only in a listening server.
 *
 * @returns functions that close the connections whose protocol is not known yet.
 */
function routeByProtocol(
  server: Http1Server,
  sessions: Http2Sessions,
  { tls, limits }: ListenOptions,
): Set<() => void> {
  const event = tls === undefined ? "connection" : "secureConnection";
  const [first] = server.listeners(event);
  server.removeAllListeners(event);
  const http1 = (socket: Socket): void => first?.call(server, socket);
  const undecided = new Set<() => void>();
  const detect = (socket: Socket): void => {
    const abandon = detectProtocol(socket, limits.requestTimeoutMs, (protocol) => {
      undecided.delete(abandon);
      if (protocol === "http2") sessions.accept(socket);
      else if (protocol === "http1") http1(socket);
    });
    undecided.add(abandon);
  };
  const negotiated = (socket: TLSSocket): void =>
    socket.alpnProtocol === "h2" ? sessions.accept(socket) : http1(socket);
  server.on(event, tls === undefined ? detect : negotiated);
  return undecided;
}

/** Tracks open HTTP/1.1 answers, so that they can announce the end of their connection. */
function trackDrain(handler: ListenOptions["handler"]): {
  handler: http.RequestListener;
  announce(): void;
  begin(idle: () => void): void;
  open(): readonly http.ServerResponse[];
} {
  const open = new TransientSet<http.ServerResponse>();
  let announced = false;
  let afterAnswer: (() => void) | undefined;
  const end = (response: http.ServerResponse): void => {
    if (!response.headersSent) response.setHeader("connection", "close");
  };
  function closed(this: http.ServerResponse): void {
    open.delete(this);
    // Node counts the connection as idle only after the listeners of this event have run.
    if (afterAnswer !== undefined) setImmediate(afterAnswer);
  }
  const announce = (): void => {
    announced = true;
    for (const response of open.values()) end(response);
  };
  return {
    handler: (request, response) => {
      open.add(response);
      response.on("close", closed);
      closeWithConnection(response);
      if (announced) end(response);
      handler(request, response);
    },
    announce,
    begin: (idle) => {
      announce();
      afterAnswer = idle;
      for (const response of open.values()) if (response.headersSent) response.on("finish", endConnection);
    },
    open: () => open.values(),
  };
}

/**
 * Ends the connection of an answer with its last byte. A proxy that was not told of the end in the headers would send its
 * next request here at once.
 */
function endConnection(this: http.ServerResponse): void {
  this.req.socket.destroySoon();
}

/** The connection preface of HTTP/2. `PRI` is not a method of HTTP/1.1 (RFC 9113, 3.4). */
const HTTP2_PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** The protocol of a connection without TLS. */
type Protocol = "http1" | "http2";

/**
 * Reads the first bytes of a connection, puts them back and reports the protocol. The bytes may arrive in chunks. A
 * client that has not sent enough after `timeoutMs` milliseconds, or ends the connection before, is disconnected.
 *
 * @param decided is called once, without a protocol if the connection closes before it is known
 * @returns a function that closes the connection; it does nothing after the protocol is known.
 */
function detectProtocol(
  socket: Socket,
  timeoutMs: number,
  decided: (protocol: Protocol | undefined) => void,
): () => void {
  let seen: Buffer | undefined;
  let open = true;
  const abandon = (): void => {
    if (!open) return;
    stop();
    socket.destroy();
    decided(undefined);
  };
  const timer = setTimeout(abandon, timeoutMs);
  const stop = (): void => {
    open = false;
    clearTimeout(timer);
    socket.off("readable", check).off("end", abandon).off("error", abandon).off("close", abandon);
  };
  const check = (): void => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = seen === undefined ? chunk : Buffer.concat([seen, chunk]);
    const protocol = protocolOf(seen);
    if (protocol === undefined) return;
    stop();
    socket.unshift(seen);
    decided(protocol);
  };
  socket.on("readable", check).on("end", abandon).on("error", abandon).on("close", abandon);
  return abandon;
}

function protocolOf(seen: Buffer): Protocol | undefined {
  const length = Math.min(seen.length, HTTP2_PREFACE.length);
  if (seen.compare(HTTP2_PREFACE, 0, length, 0, length) !== 0) return "http1";
  return length === HTTP2_PREFACE.length ? "http2" : undefined;
}
