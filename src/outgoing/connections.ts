import type { Client as Clients, buildConnector as Connectors } from "undici";
import Client from "undici/lib/dispatcher/client.js";
import type { Closers } from "./closers.js";

/** Rules for the connections to each server. */
interface ConnectionRules {
  readonly connect: Connectors.connector;
  /** Idle time after which a connection is closed, in milliseconds. */
  readonly idleMs: number;
  /** Maximum size of an answer's headers, in bytes. */
  readonly maxHeaderSize: number;
  /** Maximum number of connections to one server, beyond which requests wait. Default: no limit. */
  readonly max?: number;
  /** Older connections get no new requests, in milliseconds. Default: no limit. */
  readonly maxAgeMs?: number;
  /** Servers whose connections are not reused. Not together with `max`. */
  readonly closers?: Closers;
}

/** A request that needs a connection. */
export interface Sending {
  /** True once it was cancelled. */
  readonly isOver: boolean;
  /** Sends it on a connection, which it owns until the release. */
  sendOn(connection: Connection): void;
  /** Called if it will get no connection. */
  refuse(error: Error): void;
}

/** One HTTP/1.1 connection, which carries one request at a time. It reconnects if it was closed while unused. */
export class Connection extends Client {
  readonly #host: HostConnections;
  /** Time at which its socket connected, by `performance.now()`. */
  #since = Number.POSITIVE_INFINITY;
  /** Time at which its last answer was read completely, by `performance.now()`. */
  #answeredAt = Number.NEGATIVE_INFINITY;
  /** True if no request uses it. */
  isIdle = false;

  constructor(host: HostConnections, origin: string, options: Clients.Options) {
    super(origin, options);
    this.#host = host;
    this.on("connect", () => {
      this.#since = performance.now();
    });
    this.on("disconnect", (_origin, _targets, error) => {
      this.#since = Number.POSITIVE_INFINITY;
      this.#host.closed(this, error, performance.now() - this.#answeredAt);
    });
  }

  /** Age of its socket, in milliseconds; negative without one. */
  get ageMs(): number {
    return performance.now() - this.#since;
  }

  /** True if the server may have closed it right after its answer, in bytes that are not read yet. */
  get isFresh(): boolean {
    return this.#host.isFresh(this);
  }

  /** Releases it. @param isGood true if it can be reused: its answer was read to the end, and more will not arrive */
  release(isGood: boolean): void {
    if (isGood) this.#answeredAt = performance.now();
    this.#host.release(this, isGood);
  }
}

/** The connections to one server. The most recently used is reused first, so that surplus connections can close. */
class HostConnections {
  readonly #all: ConnectionPools;
  readonly #origin: string;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #waiting: Sending[] = [];
  /** Connections released in the current event-loop turn. */
  #fresh = new Set<Connection>();

  constructor(all: ConnectionPools, origin: string) {
    this.#all = all;
    this.#origin = origin;
  }

  send(sending: Sending): void {
    const connection = this.#take();
    if (connection === undefined) this.#waiting.push(sending);
    else sending.sendOn(connection);
  }

  release(connection: Connection, isGood: boolean): void {
    // One idle connection is kept unused, to see whether such a server still closes them.
    const isSurplus = this.#idle.length > 0 && this.#avoidsReuse();
    if (!isGood || isSurplus || connection.destroyed) this.#end(connection);
    else if (this.#open.has(connection)) {
      connection.isIdle = true;
      this.#idle.push(connection);
      if (this.#fresh.size === 0) setImmediate(() => (this.#fresh = new Set()));
      this.#fresh.add(connection);
    }
    while (this.#waiting.length > 0) {
      const next = this.#waiting[0] as Sending;
      const free = next.isOver ? undefined : this.#take();
      if (!next.isOver && free === undefined) return;
      this.#waiting.shift();
      if (free !== undefined) next.sendOn(free);
    }
  }

  /** Handles the end of a socket. @param unusedMs time since its last answer */
  closed(connection: Connection, error: unknown, unusedMs: number): void {
    this.#all.rules.closers?.closed(this.#origin, error, unusedMs);
    if (!connection.isIdle) return;
    this.#idle.splice(this.#idle.indexOf(connection), 1);
    this.#end(connection);
  }

  isFresh(connection: Connection): boolean {
    return this.#fresh.has(connection);
  }

  async close(error: Error): Promise<void> {
    for (const sending of this.#waiting.splice(0)) sending.refuse(error);
    await Promise.all([...this.#open].map((connection) => connection.destroy()));
  }

  #avoidsReuse(): boolean {
    return this.#all.rules.closers?.has(this.#origin) === true;
  }

  #take(): Connection | undefined {
    const { max = Number.POSITIVE_INFINITY, maxAgeMs = Number.POSITIVE_INFINITY } = this.#all.rules;
    while (this.#idle.length > 0 && !this.#avoidsReuse()) {
      const idle = this.#idle.pop() as Connection;
      idle.isIdle = false;
      if (idle.ageMs <= maxAgeMs) return idle;
      this.#end(idle);
    }
    if (this.#open.size >= max) return undefined;
    const connection = new Connection(this, this.#origin, this.#all.options);
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

/**
 * Connections to servers. They are single undici clients: undici's pools scan all connections to a server and their ages
 * for each request, which costs more than the request itself if there are many.
 */
export class ConnectionPools {
  readonly rules: ConnectionRules;
  /** Options of each connection. */
  readonly options: Clients.Options;
  readonly #hosts = new Map<string, HostConnections>();
  #closed: Error | undefined;

  constructor(rules: ConnectionRules) {
    this.rules = rules;
    const { connect, idleMs, maxHeaderSize } = rules;
    const keepAlive = { keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs };
    // A request has a timeout for everything, and a stream may be silent.
    this.options = { connect, ...keepAlive, maxHeaderSize, headersTimeout: 0, bodyTimeout: 0 };
  }

  /** Sends a request as soon as a connection is available. */
  send(origin: string, sending: Sending): void {
    if (this.#closed !== undefined) return sending.refuse(this.#closed);
    let host = this.#hosts.get(origin);
    if (host === undefined) {
      host = new HostConnections(this, origin);
      this.#hosts.set(origin, host);
    }
    host.send(sending);
  }

  /** Closes all of them, which aborts their requests, and rejects further requests. */
  async close(): Promise<void> {
    this.#closed ??= Object.assign(new Error("closed"), { code: "UND_ERR_CLOSED" });
    const error = this.#closed;
    await Promise.all([...this.#hosts.values()].map((host) => host.close(error)));
  }

  /** Called by `HostConnections` when the last connection to a server has ended. */
  forget(origin: string, host: HostConnections): void {
    if (this.#hosts.get(origin) === host) this.#hosts.delete(origin);
  }
}
