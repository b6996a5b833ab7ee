import type { Socket } from "node:net";
import type { Audit } from "../../audit/audit.js";
import { ignore } from "../../core/async.js";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import { decrement, increment } from "../../core/maps.js";
import { sourceOf } from "../../core/net.js";
import type { Trust } from "../forwarded.js";
import { slowReader } from "../response.js";
import { socketAddress } from "./peer.js";

interface ConnectionsOptions {
  readonly limits: Pick<Limits, "maxConnections" | "maxConnectionsPerAddress" | "sendTimeoutMs">;
  /** Trusted proxies, whose addresses many clients share. */
  readonly trust: Trust | undefined;
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
}

/**
 * The open connections of all ports. It limits their number, in total and per address, and disconnects clients that
 * take no bytes, or too few. Progress is checked at the socket, which works for every protocol: Node.js ends an HTTP/2
 * session only after its last bytes have been sent, which may never happen.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Connection>();
  readonly #byAddress = new Map<string, number>();
  /** The listener of all connections. A separate closure would cost some hundred bytes per connection. */
  readonly #onClose: (this: Socket) => void;
  #sweep: NodeJS.Timeout | undefined;
  /** Time of the last warning about refused connections, in milliseconds. */
  #lastWarningMs = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const closed = (socket: Socket): void => this.#closed(socket);
    this.#onClose = function () {
      closed(this);
    };
  }

  get size(): number {
    return this.#open.size;
  }

  /** True if a client has connected and sent nothing yet. */
  get awaitsBytes(): boolean {
    for (const socket of this.#open.keys()) if (socket.bytesRead === 0) return true;
    return false;
  }

  /** Admits a new connection. Closes it and returns false if a limit is reached. */
  admit(socket: Socket): boolean {
    // An error without a listener would end the process. The handlers of the connection add their own listeners.
    socket.on("error", ignore);
    const peer = socketAddress(socket);
    const address = sourceOf(peer);
    const limit = this.#limitFor(address, peer);
    if (limit !== undefined) {
      this.#refuse(socket, address, limit);
      return false;
    }
    this.#open.set(socket, new Connection(socket, address));
    increment(this.#byAddress, address);
    socket.on("close", this.#onClose);
    this.#sweep ??= setInterval(() => this.#check(), Math.ceil(this.#options.limits.sendTimeoutMs / 4)).unref();
    return true;
  }

  #limitFor(address: string, peer: string): keyof typeof reached | undefined {
    const { limits, trust } = this.#options;
    if (this.#open.size >= limits.maxConnections) return "maxConnections";
    const few = (this.#byAddress.get(address) ?? 0) < limits.maxConnectionsPerAddress;
    return few || trust?.(peer) === true ? undefined : "maxConnectionsPerAddress";
  }

  #refuse(socket: Socket, address: string, limit: keyof typeof reached): void {
    socket.destroy();
    this.#options.audit?.record({ event: "limit.hit", limit, address });
    const now = performance.now();
    if (now - this.#lastWarningMs < WARN_EVERY_MS) return;
    this.#lastWarningMs = now;
    this.#options.logger.warn({ address, open: this.#open.size }, `connections are refused: ${reached[limit]}`);
  }

  #closed(socket: Socket): void {
    const { address = "" } = this.#open.get(socket) ?? {};
    this.#open.delete(socket);
    decrement(this.#byAddress, address);
    if (this.#open.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  #check(): void {
    const now = performance.now();
    const { limits } = this.#options;
    for (const [socket, connection] of this.#open) {
      if (!connection.isTooSlow(now, limits.sendTimeoutMs, slowReader.minBytes)) continue;
      this.#options.logger.debug(
        { address: socket.remoteAddress },
        "a connection is closed: its client reads too slowly",
      );
      socket.destroy();
    }
  }
}

const reached = {
  maxConnections: "the server has too many connections",
  maxConnectionsPerAddress: "an address has too many connections",
} as const;

/** Minimum time between warnings about refused connections, in milliseconds. */
const WARN_EVERY_MS = 10_000;

/**
 * libuv's counters of a socket. HTTP/2 writes to the handle directly, so the JavaScript socket does not count its
 * bytes.
 */
interface Handle {
  /** Bytes that were written to the handle. */
  readonly bytesWritten?: number;
  /** Bytes that the system has not taken yet. */
  readonly writeQueueSize?: number;
}

/** The progress of one connection. */
class Connection {
  /** The client's address or network, as `sourceOf` groups them. */
  readonly address: string;
  readonly #socket: Socket & { readonly _handle?: Handle | null };
  #left = 0;
  /** Time at which bytes were last sent. */
  #since = 0;
  /** The current period, in which the client has to take `#due` bytes: its start, and the bytes sent before it. */
  #begin = 0;
  #before = 0;
  #due = 0;

  constructor(socket: Socket, address: string) {
    this.#socket = socket;
    this.address = address;
  }

  /**
   * True if the client took none of the waiting bytes for `ms` milliseconds, or fewer than `least` although more
   * waited.
   */
  isTooSlow(now: number, ms: number, least: number): boolean {
    const { bytesWritten = 0, writeQueueSize = 0 } = this.#socket._handle ?? {};
    const left = bytesWritten - writeQueueSize;
    if (writeQueueSize === 0 || left !== this.#left) this.#since = now;
    this.#left = left;
    const isOver = now - this.#begin >= ms;
    const isSlow = this.#due > 0 && isOver && left - this.#before < this.#due;
    if (writeQueueSize === 0 || isOver || this.#due === 0) {
      this.#begin = now;
      this.#before = left;
      this.#due = Math.min(least, writeQueueSize);
    }
    return isSlow || now - this.#since >= ms;
  }
}
