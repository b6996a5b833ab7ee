import type { Client as Clients } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import { makeRoom } from "../../core/maps.js";

/** A server that closes a connection so soon after an answer closes all of them so, in milliseconds. */
const SOON_MS = 100;

/** After such a close no connection to that server is used again for so long, in milliseconds. */
const CAUTION_MS = 60_000;

/** Servers that are remembered for that; the oldest is forgotten for one more. */
const MAX_CLOSERS = 256;

/** Codes of errors by which a connection ends that the server closes without having said so. */
const unannounced: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

/** One connection of HTTP/1.1; a new one each time the one before was closed unused. */
export class Connection extends Client {
  /** When its last answer was read to its end, by `performance.now()`. */
  #answeredAt = -Infinity;

  /** Its answer was read to its end. */
  answered(): void {
    this.#answeredAt = performance.now();
  }

  /** Tells if the server closed the connection right after an answer that had not announced it. */
  wasClosedSoon(error: unknown): boolean {
    const { code } = error as { code?: unknown };
    return unannounced.has(code) && performance.now() - this.#answeredAt <= SOON_MS;
  }
}

/** Connections of HTTP/1.1 to one server: as many as there are calls under way, and those that were used last to be used again. */
export class ServerConnections {
  readonly #origin: string;
  readonly #all: Connections;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  /** Those that were given back in the present turn of the event loop. */
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

  /** Gives one back. @param isGood whether it may carry another request: its answer was read to its end, and was no error of the server */
  release(client: Connection, isGood: boolean): void {
    if (!isGood || client.destroyed) return this.#end(client);
    client.answered();
    // One stays, unused, to see whether the server still closes them.
    if (this.#idle.length > 0 && this.#all.closers.has(this.#origin)) return this.#end(client);
    this.#idle.push(client);
    if (this.#fresh.size === 0) setImmediate(() => (this.#fresh = new Set()));
    this.#fresh.add(client);
  }

  /** Tells if the server may have closed a connection right after its answer, in bytes that were not read yet. */
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
 * Servers that close connections soon after an answer without announcing it. A request that is written in that moment is lost, and
 * most may not be repeated (RFC 9112, 9.3.1), so each gets a connection of its own.
 */
export class Closers {
  /** Until when, by `performance.now()`; the one that was seen last is the last. */
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
 * Connections to servers. They are undici's clients, one by one: its own pools look through all connections to a server for each
 * request, which costs more than the request itself where there are many.
 */
export class Connections {
  readonly options: Clients.Options;
  readonly closers: Closers = new Closers();
  readonly #servers = new Map<string, ServerConnections>();
  #isClosed = false;

  constructor(options: Clients.Options) {
    this.options = options;
  }

  /** Where connections to a server are taken from, each for one request, and given back. @throws when all is closed */
  to(origin: string): ServerConnections {
    if (this.#isClosed) throw Object.assign(new Error("closed"), { code: "UND_ERR_CLOSED" });
    let server = this.#servers.get(origin);
    if (server === undefined) {
      server = new ServerConnections(origin, this);
      this.#servers.set(origin, server);
    }
    return server;
  }

  /** For `ServerConnections`: there is none to a server any more. */
  forget(origin: string, server: ServerConnections): void {
    if (this.#servers.get(origin) === server) this.#servers.delete(origin);
  }

  /** Ends all of them, and what they carry. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }
}
