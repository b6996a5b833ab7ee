import { chmodSync, lstatSync, type Stats, unlinkSync } from "node:fs";
import { type AddressInfo, connect, Server as NetServer, type Server, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";
import { markLocal } from "./peer.js";

/** Address, Unix socket or descriptor that a server listens on. */
export interface ListenAddress {
  /** Name or address to listen on, such as `0.0.0.0` or `::`. */
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** Descriptor of an open socket that the process was started with, TCP or Unix. `host` and `port` do not apply then. */
  readonly fd?: number | undefined;
  /** Path of a Unix socket to create, in place of host and port. Only the user of this process may open it. */
  readonly socket?: string | undefined;
  /** Lets other processes of the same user listen on the port too (SO_REUSEPORT). Default false. */
  readonly reusePort?: boolean | undefined;
  /** Opens the address in another process, which accepts the connections for this one. */
  readonly source?: ConnectionSource | undefined;
}

/** Connections that another process accepts. */
export interface ConnectionSource {
  /** True if other processes take the connections that this one declines. */
  readonly hasOthers: boolean;
  /** Opens the address, unless it is open. @throws the system's error */
  open(address: ListenAddress): Promise<Bound>;
  /** Starts to take connections. */
  take(accept: (socket: Socket) => void): void;
  /** Stops taking connections. Those in flight go to another process. */
  stop(): void;
}

/** The address on which a port listens. */
export interface Bound {
  /** Host as configured; that of the socket if the process was started with it, `localhost` for a Unix socket. */
  readonly host: string;
  /** 0 for a Unix socket. */
  readonly port: number;
}

/**
 * Starts to listen. Later errors of the server concern single connections and go to `failed`. A Unix socket of a
 * process that has ended is replaced; its file is removed when the server closes.
 *
 * @throws the system's error if the address is in use or not permitted, or the host is not one of this machine.
 */
export async function listenAt(server: Server, address: ListenAddress, failed: (error: Error) => void): Promise<Bound> {
  const { host, port, fd, socket, reusePort, source } = address;
  if (source !== undefined) return takeFrom(source, server, address);
  if (socket !== undefined) await removeStaleSocket(socket);
  return new Promise((resolve, reject) => {
    let isListening = false;
    server.on("error", (error) => (isListening ? failed(error) : reject(error)));
    // The types of Node.js 20 lack `reusePort`.
    const options = fd === undefined ? { host, port, ...(reusePort === true && { reusePort }) } : { fd };
    const listening = (): void => {
      isListening = true;
      const bound = boundOf(server, address);
      // The clients of a Unix socket have no address. Its file decides who may connect.
      if (bound.port === 0) server.prependListener("connection", (socket: Socket) => markLocal(socket));
      resolve(bound);
    };
    if (socket === undefined) server.listen(options, listening);
    else listenPrivately(server, socket, listening);
  });
}

/** Gives a server the connections of another process. The server does not listen itself. */
async function takeFrom(source: ConnectionSource, server: Server, address: ListenAddress): Promise<Bound> {
  const bound = await source.open(address);
  if (bound.port === 0) server.prependListener("connection", (socket: Socket) => markLocal(socket));
  // On this event, HTTP servers start to check for slow requests.
  server.emit("listening");
  source.take((socket) => server.emit("connection", socket));
  return bound;
}

function boundOf(server: Server, { host, fd }: ListenAddress): Bound {
  // Null for a Unix socket that was opened by another process.
  const address = server.address() as AddressInfo | string | null;
  if (address === null || typeof address === "string") return { host: "localhost", port: 0 };
  return { host: fd === undefined ? host : address.address, port: address.port };
}

/** Maximum number of turns of the event loop in which waiting connections are accepted before a server stops. */
const LAST_TURNS = 1_000;

/**
 * Accepts the connections that already wait, as closing the socket would reset them, and no more. It leaves the open ones
 * as they are: `close` of an HTTP server would also end idle connections and the timeouts of open requests. The callback
 * of a later `close` is still called.
 */
export async function stopAccepting(server: Server, source?: ConnectionSource): Promise<void> {
  if (source !== undefined) return source.stop();
  let accepted = 0;
  const count = (): void => void accepted++;
  server.on("connection", count);
  for (let turns = 0, before = -1; before !== accepted && turns < LAST_TURNS; turns++) {
    before = accepted;
    // Node.js may accept one connection in each turn. The second turn has polled the socket after the first.
    await setImmediate();
    await setImmediate();
  }
  server.off("connection", count);
  NetServer.prototype.close.call(server);
}

/** True if another process may accept the connections that this one no longer accepts. */
export function isShared({ fd, reusePort, source }: ListenAddress): boolean {
  return source === undefined ? fd !== undefined || reusePort === true : source.hasOthers;
}

/** Resolves when these connections and a server that has stopped accepting have closed. */
export async function closedWith(server: Server, sockets: Iterable<Socket>): Promise<void> {
  const closes = [...sockets].map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())));
  await Promise.all([new Promise<void>((resolve) => server.close(() => resolve())), ...closes]);
}

/**
 * Removes the file of a Unix socket whose process has ended, so that another one can listen there.
 *
 * @throws Error for a socket that a process listens on, and for a file that is not a socket
 */
async function removeStaleSocket(path: string): Promise<void> {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined) return;
  if (!before.isSocket()) throw new Error(`${path} is not a socket`);
  if (await isAlive(path)) throw new Error(`another process listens on ${path}`);
  const now = lstatSync(path, { throwIfNoEntry: false });
  // Another process that starts at the same time may have replaced it.
  if (now !== undefined && isSameFile(before, now)) unlinkSync(path);
}

function isSameFile(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.ctimeMs === other.ctimeMs;
}

/** True unless the system reports that no process listens. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED" && code !== "ENOENT"));
  });
}

/** Begins to listen on a Unix socket that only the user of this process may open. */
function listenPrivately(server: Server, path: string, listening: () => void): void {
  // Node.js creates the file within `listen`. Threads other than the first one cannot set the mask.
  const before = isMainThread ? process.umask(0o177) : undefined;
  try {
    server.listen({ path }, listening);
  } finally {
    if (before !== undefined) process.umask(before);
  }
  if (before === undefined) server.once("listening", () => chmodSync(path, 0o600));
}
