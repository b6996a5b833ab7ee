import { createServer, type Server, type Socket } from "node:net";
import * as tls from "node:tls";
import {
  type Bound,
  closedWith,
  isShared,
  type ListenAddress,
  listenAt,
  stopAccepting,
} from "../../http/node/listening.js";
import { secureOptions, type TlsFiles } from "../../http/node/tls.js";

export interface PortOptions extends ListenAddress {
  /** Certificate chain and key, PEM. Without them the server speaks cleartext HTTP/2. */
  readonly tls?: TlsFiles | undefined;
  /** Admits a new connection, or closes it and returns false. Default: admits all. */
  readonly admit?: ((socket: Socket) => boolean) | undefined;
}

/** A port that accepts connections for a server. */
export interface Port {
  /** Starts to listen. Rejects if it cannot listen; `code` is the error code of node:net. */
  listen(): Promise<Bound>;
  /** Leaves new connections to other processes, if they share the port. */
  announceDrain(): void;
  /** Accepts no more connections than those that already wait. */
  stopAccepting(): Promise<void>;
  /** Accepts no new connections; resolves when the open ones have ended. */
  close(): Promise<void>;
  /** Uses other TLS files for new connections; open ones continue. For a port with TLS. */
  setTls(files: TlsFiles): void;
  /** Closes all open connections at once. */
  destroy(): void;
}

/**
 * Listens for gRPC, with a timeout for TLS handshakes.
 *
 * @param serve serves a connection, after the handshake if the port uses TLS
 */
export function openPort(options: PortOptions, handshakeTimeout: number, serve: (socket: Socket) => void): Port {
  const sockets = new Set<Socket>();
  const server = serverOf(options, handshakeTimeout, serve);
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    if (options.admit?.(socket) === false) return;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    for (const listener of listeners) listener.call(server, socket);
  });
  return {
    listen: () => listen(server, options),
    announceDrain: () => {
      if (isShared(options)) void stopAccepting(server, options.source);
    },
    stopAccepting: () => stopAccepting(server, options.source),
    close: () => {
      options.source?.stop();
      return closedWith(server, sockets);
    },
    setTls: (files) => {
      if ("setSecureContext" in server) (server as tls.Server).setSecureContext(secureOptions(files));
    },
    destroy: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function serverOf(options: PortOptions, handshakeTimeout: number, serve: (socket: Socket) => void): Server {
  if (options.tls === undefined) return createServer(serve);
  const secure = { ...secureOptions(options.tls), handshakeTimeout, ALPNProtocols: ["h2"] };
  const server = tls.createServer(secure, (socket) => serve(socket));
  // Node.js only reports a handshake that has timed out, and leaves the connection open.
  return server.on("tlsClientError", (_error, socket) => socket.destroy());
}

async function listen(server: Server, options: PortOptions): Promise<Bound> {
  // Later errors concern single connections that could not be accepted, such as when file descriptors run out. The
  // clients retry.
  const failed = (): void => {};
  try {
    return await listenAt(server, options, failed);
  } catch (error) {
    throw cannotListen(options, error as NodeJS.ErrnoException);
  }
}

function cannotListen({ host, port }: { host: string; port: number }, cause: NodeJS.ErrnoException): Error {
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const why = cause.code === "EADDRINUSE" ? "the port is in use" : cause.message;
  const message = `The gRPC server cannot listen on ${address}: ${why}.`;
  return Object.assign(new Error(message, { cause }), { code: cause.code });
}
