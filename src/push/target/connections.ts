import type { Client as Clients, buildConnector as Connectors, Dispatcher } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import type { Limits } from "../../core/limits.js";

/** Maximum size of the headers of a response, in bytes. */
const MAX_HEADERS = 16 * 1024;

/** A request that waits for a connection. */
export interface Sending {
  /** Its destination. */
  readonly origin: string;
  /** True once it was cancelled. */
  readonly isOver: boolean;
  /** Sends it on a connection, which it owns until the release. */
  sendOn(connection: Connection): void;
  /** Called if it will get no connection. */
  refuse(error: Error): void;
}

/**
 * One connection, which carries one request at a time. It connects for its first request, and again after it was
 * closed.
 */
export class Connection {
  readonly #client: Clients;
  readonly #host: HostConnections;
  /** Time at which its socket connected, by `performance.now()`. */
  #since = Number.POSITIVE_INFINITY;
  /** True if no request uses it. */
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

  /** Age of its socket, in milliseconds; negative without one. */
  get ageMs(): number {
    return performance.now() - this.#since;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler);
  }

  /** Releases it. @param isWhole true if the response was read to its end: otherwise more of it may arrive */
  release(isWhole: boolean): void {
    this.#host.release(this, isWhole);
  }

  /** Closes it and aborts its request. */
  destroy(): Promise<void> {
    return this.#client.destroy();
  }
}

/** The connections to one host: idle ones, and requests that wait once the limit is reached. */
class HostConnections {
  readonly #all: Connections;
  readonly #origin: string;
  readonly #open = new Set<Connection>();
  /** Used last in, first out, so that surplus connections can close. */
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

  /** Removes a connection that was closed while idle. */
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

/** Limits of unused connections to a receiver, in milliseconds. */
export const pushConnection = {
  /** Idle time: shorter than the keep-alive of most servers. */
  idleMs: 4_000,
  /** Age: a new connection resolves and checks the host again. */
  maxAgeMs: 300_000,
} as const;

/**
 * Connections to receivers, at most `maxDeliveriesPerHost` to each. They are single undici clients: its pools scan all
 * connections to a host and their ages for each request, which costs more than the rest of a delivery.
 */
export class Connections {
  readonly maxOfHost: number;
  /** Older connections get no new requests, in milliseconds. */
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
      // The exchange has one timeout for everything.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
  }

  /** Sends a request once a connection is available. */
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

  /** Closes all of them, and rejects further requests. */
  async close(): Promise<void> {
    this.#closed ??= Object.assign(new Error("closed"), { code: "UND_ERR_DESTROYED" });
    const error = this.#closed;
    await Promise.all([...this.#hosts.values()].map((host) => host.close(error)));
  }

  /** For `HostConnections`. */
  connect(origin: string): Clients {
    return new Client(origin, this.#options);
  }

  /** For `HostConnections`: the last connection to a host has closed. */
  forget(origin: string, host: HostConnections): void {
    if (this.#hosts.get(origin) === host) this.#hosts.delete(origin);
  }
}
