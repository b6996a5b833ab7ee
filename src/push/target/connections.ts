import type { Client as Clients, buildConnector as Connectors, Dispatcher } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import type { Limits } from "../../core/limits.js";

/** The headers of one answer, in bytes. */
const MAX_HEADERS = 16 * 1024;

/** Something that is to be sent on a connection. */
export interface Sending {
  /** Of whom. */
  readonly origin: string;
  /** Nobody wants it any more. */
  readonly isOver: boolean;
  /** Sends it. The connection is its own until it gives it back. */
  sendOn(connection: Connection): void;
  /** There will be no connection. */
  refuse(error: Error): void;
}

/** One connection, which carries one request at a time. It connects when there is one, and again when it was closed. */
export class Connection {
  readonly #client: Clients;
  readonly #host: HostConnections;
  /** When the socket that it has was connected, by `performance.now()`. */
  #since = Number.POSITIVE_INFINITY;
  /** Whether nobody has it at the moment. */
  isIdle = false;

  constructor(host: HostConnections, client: Clients) {
    this.#host = host;
    this.#client = client;
    client.on("connect", () => {
      this.#since = performance.now();
    });
    client.on("disconnect", () => {
      this.#since = Number.POSITIVE_INFINITY;
      if (this.isIdle) this.#host.forget(this);
    });
  }

  /** For how long its socket has been connected, in milliseconds; negative when there is none. */
  get ageMs(): number {
    return performance.now() - this.#since;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler);
  }

  /** Gives it back. @param isWhole whether the answer was read to its end: there may be more of it on the way otherwise */
  release(isWhole: boolean): void {
    this.#host.release(this, isWhole);
  }

  /** Ends it, with what it carries. */
  destroy(): Promise<void> {
    return this.#client.destroy();
  }
}

/** The connections to one host: idle ones, and what waits for one where there are as many as there may be. */
class HostConnections {
  readonly #all: Connections;
  readonly #origin: string;
  readonly #open = new Set<Connection>();
  /** The last one that was used is the first one to be used again: what is not needed can close. */
  readonly #idle: Connection[] = [];
  readonly #waiting: Sending[] = [];

  constructor(all: Connections, origin: string) {
    this.#all = all;
    this.#origin = origin;
  }

  send(sending: Sending): void {
    const connection = this.#take();
    if (connection === undefined) this.#waiting.push(sending);
    else sending.sendOn(connection);
  }

  release(connection: Connection, isWhole: boolean): void {
    if (!isWhole) this.#end(connection);
    else if (this.#open.has(connection)) {
      connection.isIdle = true;
      this.#idle.push(connection);
    }
    while (this.#waiting.length > 0) {
      const next = this.#waiting[0] as Sending;
      const free = next.isOver ? undefined : this.#take();
      if (!next.isOver && free === undefined) return;
      this.#waiting.shift();
      if (free !== undefined) next.sendOn(free);
    }
  }

  /** One that was closed while nobody had it. */
  forget(connection: Connection): void {
    this.#idle.splice(this.#idle.indexOf(connection), 1);
    this.#end(connection);
  }

  async close(error: Error): Promise<void> {
    for (const sending of this.#waiting.splice(0)) sending.refuse(error);
    await Promise.all([...this.#open].map((connection) => connection.destroy()));
  }

  #take(): Connection | undefined {
    const { maxOfHost, maxAgeMs } = this.#all;
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      idle.isIdle = false;
      if (idle.ageMs <= maxAgeMs) return idle;
      this.#end(idle);
    }
    if (this.#open.size >= maxOfHost) return undefined;
    const connection = new Connection(this, this.#all.connect(this.#origin));
    this.#open.add(connection);
    return connection;
  }

  #end(connection: Connection): void {
    connection.isIdle = false;
    this.#open.delete(connection);
    void connection.destroy();
    if (this.#open.size === 0 && this.#waiting.length === 0) this.#all.forget(this.#origin, this);
  }
}

/** When a connection to a receiver is no longer used, in milliseconds. */
export const pushConnection = {
  /** Nothing was sent on it: less than most servers wait before they close it. */
  idleMs: 4_000,
  /** Its age: the name of its host is then looked up, and judged, anew. */
  maxAgeMs: 300_000,
} as const;

/**
 * Connections to receivers, at most `maxDeliveriesPerHost` to each. They are undici's clients, one by one: its own pools look through
 * all connections to a host for each request, and through their ages, which costs more than all the rest of what is done here.
 */
export class Connections {
  readonly maxOfHost: number;
  /** One that is older carries nothing new, in milliseconds. */
  readonly maxAgeMs: number;
  readonly #options: Clients.Options;
  readonly #hosts = new Map<string, HostConnections>();
  #closed: Error | undefined;

  constructor(connect: Connectors.connector, limits: Pick<Limits, "maxDeliveriesPerHost">) {
    this.maxOfHost = limits.maxDeliveriesPerHost;
    this.maxAgeMs = pushConnection.maxAgeMs;
    this.#options = {
      connect,
      keepAliveTimeout: pushConnection.idleMs,
      keepAliveMaxTimeout: pushConnection.idleMs,
      maxHeaderSize: MAX_HEADERS,
      // An exchange has one time limit, for all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
  }

  /** Sends something, when there is a connection for it. */
  send(sending: Sending): void {
    if (this.#closed !== undefined) return sending.refuse(this.#closed);
    const { origin } = sending;
    let host = this.#hosts.get(origin);
    if (host === undefined) {
      host = new HostConnections(this, origin);
      this.#hosts.set(origin, host);
    }
    host.send(sending);
  }

  /** Ends all of them, and lets nothing more be sent. */
  async close(): Promise<void> {
    this.#closed ??= Object.assign(new Error("closed"), { code: "UND_ERR_DESTROYED" });
    const error = this.#closed;
    await Promise.all([...this.#hosts.values()].map((host) => host.close(error)));
  }

  /** For `HostConnections`. */
  connect(origin: string): Clients {
    return new Client(origin, this.#options);
  }

  /** For `HostConnections`: there is none to a host any more. */
  forget(origin: string, host: HostConnections): void {
    if (this.#hosts.get(origin) === host) this.#hosts.delete(origin);
  }
}
