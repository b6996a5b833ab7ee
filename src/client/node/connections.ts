import type { Client as Clients } from "undici";
import Client from "undici/lib/dispatcher/client.js";

/** Connections of HTTP/1.1 to one server: as many as there are calls under way, and those that were used last to be used again. */
export class ServerConnections {
  readonly #origin: string;
  readonly #all: Connections;
  readonly #open = new Set<Clients>();
  readonly #idle: Clients[] = [];

  constructor(origin: string, all: Connections) {
    this.#origin = origin;
    this.#all = all;
  }

  take(): Clients {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const client = new Client(this.#origin, this.#all.options);
    this.#open.add(client);
    client.on("disconnect", () => {
      const at = this.#idle.indexOf(client);
      if (at < 0) return;
      this.#idle.splice(at, 1);
      this.#end(client);
    });
    return client;
  }

  /** Gives one back. @param isWhole whether the answer was read to its end: there may be more of it on the way otherwise */
  release(client: Clients, isWhole: boolean): void {
    if (isWhole && !client.destroyed) this.#idle.push(client);
    else this.#end(client);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((client) => client.destroy()));
  }

  #end(client: Clients): void {
    this.#open.delete(client);
    void client.destroy();
    if (this.#open.size === 0) this.#all.forget(this.#origin, this);
  }
}

/**
 * Connections to servers. They are undici's clients, one by one: its own pools look through all connections to a server for each
 * request, which costs more than the request itself where there are many.
 */
export class Connections {
  readonly options: Clients.Options;
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
