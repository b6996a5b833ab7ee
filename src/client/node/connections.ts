import type { Client as Clients } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import { makeRoom } from "../../core/maps.js";

/**
 * Time after an answer within which a close suggests that the server closes all connections that early, in
 * milliseconds.
 */
const SOON_MS = 100;

/** Time for which such a server's connections are not reused, in milliseconds. */
const CAUTION_MS = 60_000;

/** Maximum number of such servers remembered; the oldest is evicted. */
const MAX_CLOSERS = 256;

/** Error codes of connections that the server closes without announcing it. */
const unannounced: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

/** One HTTP/1.1 connection. It reconnects if it was closed while unused. */
export class Connection extends Client {
  /** Time when its last answer was read completely, by `performance.now()`. */
  #answeredAt = -Infinity;

  /** Notes that its answer was read completely. */
  answered(): void {
    this.#answeredAt = performance.now();
  }

  /** Tells whether the server closed the connection right after an answer that had not announced it. */
  wasClosedSoon(error: unknown): boolean {
    const { code } = error as { code?: unknown };
    return unannounced.has(code) && performance.now() - this.#answeredAt <= SOON_MS;
  }
}

/** HTTP/1.1 connections to one server: one per open call. The most recently used is reused first. */
export class ServerConnections {
  readonly #origin: string;
  readonly #all: Connections;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  /** Connections returned in the current event-loop turn. */
  #fresh = new Set<Connection>();

  constructor(origin: string, all: Connections) {
    this.#origin = origin;
    this.#all = all;
  }

  take(): Connection {
    const idle = this.#all.closers.has(this.#origin) ? undefined : this.#idle.pop();
    if (idle !== undefined) return idle;
    const client = new Connection(this.#origin, this.#all.options);
    this.#open.add(client);
    client.on("disconnect", (_origin, _targets, error) => {
      if (client.wasClosedSoon(error)) this.#all.closers.add(this.#origin);
      const at = this.#idle.indexOf(client);
      if (at < 0) return;
      this.#idle.splice(at, 1);
      this.#end(client);
    });
    return client;
  }

  /**
   * Returns a connection. @param isGood true if it can be reused: its answer was read completely and was not a server
   * error
   */
  release(client: Connection, isGood: boolean): void {
    if (!isGood || client.destroyed) return this.#end(client);
    client.answered();
    // One idle connection is kept unused, to see whether the server still closes them.
    if (this.#idle.length > 0 && this.#all.closers.has(this.#origin)) return this.#end(client);
    this.#idle.push(client);
    if (this.#fresh.size === 0) setImmediate(() => (this.#fresh = new Set()));
    this.#fresh.add(client);
  }

  /** Tells whether the server may have closed a connection right after its answer, in bytes not read yet. */
  isFresh(client: Connection): boolean {
    return this.#fresh.has(client);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((client) => client.destroy()));
  }

  #end(client: Connection): void {
    this.#open.delete(client);
    void client.destroy();
    if (this.#open.size === 0) this.#all.forget(this.#origin, this);
  }
}

/**
 * Servers that close connections soon after an answer without announcing it. A request written at that moment is lost,
 * and most must not be repeated (RFC 9112, 9.3.1), so each gets a new connection.
 */
export class Closers {
  /** Expiry by origin, by `performance.now()`; most recently seen last. */
  readonly #until = new Map<string, number>();

  add(origin: string): void {
    this.#until.delete(origin);
    makeRoom(this.#until, MAX_CLOSERS);
    this.#until.set(origin, performance.now() + CAUTION_MS);
  }

  has(origin: string): boolean {
    const until = this.#until.get(origin);
    if (until === undefined) return false;
    if (performance.now() < until) return true;
    this.#until.delete(origin);
    return false;
  }
}

/**
 * Connections to servers. They are single undici clients: undici's pools scan all connections to a server for each
 * request, which costs more than the request itself if there are many.
 */
export class Connections {
  readonly options: Clients.Options;
  readonly closers: Closers = new Closers();
  readonly #servers = new Map<string, ServerConnections>();
  #isClosed = false;

  constructor(options: Clients.Options) {
    this.options = options;
  }

  /** Returns the connections to a server, from which each request takes one. @throws after `close` */
  to(origin: string): ServerConnections {
    if (this.#isClosed) throw Object.assign(new Error("closed"), { code: "UND_ERR_CLOSED" });
    let server = this.#servers.get(origin);
    if (server === undefined) {
      server = new ServerConnections(origin, this);
      this.#servers.set(origin, server);
    }
    return server;
  }

  /** Called by `ServerConnections` when the last connection to a server has ended. */
  forget(origin: string, server: ServerConnections): void {
    if (this.#servers.get(origin) === server) this.#servers.delete(origin);
  }

  /** Ends all connections and their calls. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }
}
