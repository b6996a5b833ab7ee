import { isIPv6, type Socket } from "node:net";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import type { Trust } from "../request-origin.js";

export interface ConnectionsOptions {
  readonly limits: Pick<Limits, "maxConnections" | "maxConnectionsPerAddress" | "sendTimeoutMs" | "minReaderBytes">;
  /** Proxies: many clients come from one address there. */
  readonly trust: Trust | undefined;
  readonly logger: Logger;
}

/**
 * The open connections of all ports: how many there may be, together and from one address, and for how long one of
 * them may take nothing, or hardly anything, of what is sent to it. Whatever protocol is spoken above, the socket is the place where that
 * shows: Node and grpc-js end a session of HTTP/2 only when its last bytes have left, which may be never.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Connection>();
  readonly #byAddress = new Map<string, number>();
  #sweep: NodeJS.Timeout | undefined;
  /** When it was last said that connections are refused, in milliseconds. */
  #lastWarningMs = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes a new connection in; false where there is no room for it, and it is closed. */
  admit(socket: Socket): boolean {
    // Whoever handles the connection listens for itself as long as it does; nobody's error may end the process.
    socket.on("error", ignore);
    const address = sourceOf(socket.remoteAddress ?? "");
    const full = this.#fullFor(address, socket.remoteAddress ?? "");
    if (full !== undefined) {
      this.#refuse(socket, address, full);
      return false;
    }
    this.#open.set(socket, new Connection(socket));
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
    socket.once("close", () => this.#closed(socket, address));
    this.#sweep ??= setInterval(() => this.#check(), Math.ceil(this.#options.limits.sendTimeoutMs / 4)).unref();
    return true;
  }

  #fullFor(address: string, peer: string): string | undefined {
    const { limits, trust } = this.#options;
    if (this.#open.size >= limits.maxConnections) return "the server has too many connections";
    const few = (this.#byAddress.get(address) ?? 0) < limits.maxConnectionsPerAddress;
    return few || trust?.(peer) === true ? undefined : "an address has too many connections";
  }

  #refuse(socket: Socket, address: string, why: string): void {
    socket.destroy();
    const now = performance.now();
    if (now - this.#lastWarningMs < WARN_EVERY_MS) return;
    this.#lastWarningMs = now;
    this.#options.logger.warn({ address, open: this.#open.size }, `connections are refused: ${why}`);
  }

  #closed(socket: Socket, address: string): void {
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
      if (!connection.isTooSlow(now, limits.sendTimeoutMs, limits.minReaderBytes)) continue;
      this.#options.logger.debug(
        { address: socket.remoteAddress },
        "a connection is cut off: its client takes too little of what is sent",
      );
      socket.destroy();
    }
  }
}

/** Between two lines of the log that say that connections are refused, in milliseconds. */
const WARN_EVERY_MS = 10_000;

/** What libuv tells of a socket; HTTP/2 writes to it past the JavaScript around it. */
interface Handle {
  /** Bytes that were given to it. */
  readonly bytesWritten?: number;
  /** Those of them that the system has not taken yet. */
  readonly writeQueueSize?: number;
}

/** How one connection gets on. */
class Connection {
  readonly #socket: Socket & { readonly _handle?: Handle | null };
  #left = 0;
  /** When the last bytes left. */
  #since = 0;
  /** A time in which it has to take `#due` bytes: when it began, and how many had left by then. */
  #begin = 0;
  #before = 0;
  #due = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Whether bytes have been waiting for `ms` of which none has left, or fewer than `least` and than waited then. */
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

/**
 * What counts as one client: an address of IPv4, also in the dress of IPv6, or a network of 64 bits of IPv6, which is
 * the least that anybody is given (RFC 6177).
 */
export function sourceOf(address: string): string {
  if (!isIPv6(address)) return address;
  if (address.startsWith("::ffff:") && address.includes(".")) return address.slice(7);
  const [head = "", tail] = address.split("%", 1)[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const all = tail === undefined ? groups : [...groups, ...Array(8 - groups.length - last.length).fill("0"), ...last];
  return `${all.slice(0, 4).join(":")}::/64`;
}

function ignore(): void {}
