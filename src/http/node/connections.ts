import type { Socket } from "node:net";
import type { Audit } from "../../audit/audit.js";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import { sourceOf } from "../../core/net.js";
import type { Trust } from "../forwarded.js";
import { slowReader } from "../response.js";

export interface ConnectionsOptions {
  readonly limits: Pick<Limits, "maxConnections" | "maxConnectionsPerAddress" | "sendTimeoutMs">;
  /** Trusted proxies: many clients share one address there. */
  readonly trust: Trust | undefined;
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
}

/**
 * The open connections of all ports. It limits how many there may be, in total and from one address, and for how long a
 * client may take nothing, or very little, of what is sent to it. This is checked at the socket, because it holds for every
 * protocol: Node ends an HTTP/2 session only when its last bytes have been sent, which may be never.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Connection>();
  readonly #byAddress = new Map<string, number>();
  /** The listener of all connections: one of its own would cost each of them some hundred bytes. */
  readonly #onClose: (this: Socket) => void;
  #sweep: NodeJS.Timeout | undefined;
  /** When the last warning about refused connections was logged, in milliseconds. */
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

  /** Admits a new connection; false where a limit is reached, and the connection is closed. */
  admit(socket: Socket): boolean {
    // An error without a listener would end the process; those who handle the connection have listeners of their own.
    socket.on("error", ignore);
    const address = sourceOf(socket.remoteAddress ?? "");
    const limit = this.#limitFor(address, socket.remoteAddress ?? "");
    if (limit !== undefined) {
      this.#refuse(socket, address, limit);
      return false;
    }
    this.#open.set(socket, new Connection(socket, address));
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
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
    const left = (this.#byAddress.get(address) ?? 0) - 1;
    if (left > 0) this.#byAddress.set(address, left);
    else this.#byAddress.delete(address);
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
        "a connection is cut off: its client takes too little of what is sent",
      );
      socket.destroy();
    }
  }
}

const reached = {
  maxConnections: "the server has too many connections",
  maxConnectionsPerAddress: "an address has too many connections",
} as const;

/** Between two warnings that connections are refused, in milliseconds. */
const WARN_EVERY_MS = 10_000;

/** What libuv knows about a socket; HTTP/2 writes to it without the JavaScript object around it. */
interface Handle {
  /** Bytes that were passed to it. */
  readonly bytesWritten?: number;
  /** Those of them that the system has not taken yet. */
  readonly writeQueueSize?: number;
}

/** The progress of one connection. */
class Connection {
  /** What counts as its client (`sourceOf`). */
  readonly address: string;
  readonly #socket: Socket & { readonly _handle?: Handle | null };
  #left = 0;
  /** When bytes were last sent. */
  #since = 0;
  /** The current period, in which `#due` bytes must be taken: when it began, and how many had been sent by then. */
  #begin = 0;
  #before = 0;
  #due = 0;

  constructor(socket: Socket, address: string) {
    this.#socket = socket;
    this.address = address;
  }

  /** Whether, for `ms` milliseconds, none of the waiting bytes was taken, or fewer than `least` although more waited. */
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

function ignore(): void {}
