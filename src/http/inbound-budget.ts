import { limitReached } from "../core/error.js";
import { type Deferred, defer } from "../core/event-loop.js";
import type { Limits } from "../core/limits.js";
import { sourceOf } from "../core/net.js";

/** Maximum number of requests being received from one address, or one /64 of IPv6; trusted proxies have no such limit. */
export const arriving = { maxPerAddress: 4_096 } as const;

interface InboundBudgetOptions {
  readonly limits: Pick<Limits, "maxArrivingBytes" | "maxRequestBytes" | "requestTimeoutMs">;
  /** Returns true for the address of a proxy, which many clients share. Default: no address is. */
  readonly isProxy?: ((address: string) => boolean) | undefined;
}

/** A request that is still arriving. */
export interface PendingUpload {
  /**
   * True if it is complete. Checked in the event-loop turn after its start: most requests are complete by then and are
   * never counted.
   */
  readonly hasArrived: boolean;
  /**
   * Opens a buffer budget for the request and counts the bytes received so far. The request closes it at its end.
   */
  wait(): void;
}

/** The requests and bytes of one address. */
class Source {
  requests = 0;
  shared = 0;
  reserved = 0;
}

/** A request counts as small up to this size, in bytes, or up to an eighth of the reserve. */
const SMALL_BYTES = 64 * 1024;

/**
 * Counts the requests that are still arriving, over all connections and bindings, before their callers are known. An
 * eighth of the bytes is reserved for small requests, and one address may use half of each part, so that a client that
 * begins requests without finishing them does not block others. Requests that arrive within one event-loop turn are not
 * counted.
 */
export class InboundBudget {
  /** `Limits.requestTimeoutMs`, for runtimes that do not enforce it themselves. */
  readonly requestTimeoutMs: number;
  readonly #maxShared: number;
  readonly #maxReserved: number;
  readonly #maxBytes: number;
  /** Maximum part of the shared bytes for one address: at least one request of the maximum size. */
  readonly #share: number;
  readonly #small: number;
  readonly #isProxy: (address: string) => boolean;
  readonly #sources = new Map<string, Source>();
  readonly #all = new Source();
  #begun: PendingUpload[] = [];
  readonly #round: Deferred = { run: () => this.#check(), failed: () => {} };

  constructor({ limits, isProxy = () => false }: InboundBudgetOptions) {
    this.requestTimeoutMs = limits.requestTimeoutMs;
    this.#maxBytes = Math.max(limits.maxArrivingBytes, limits.maxRequestBytes);
    this.#maxReserved = Math.floor(this.#maxBytes / 8);
    this.#maxShared = Math.max(this.#maxBytes - this.#maxReserved, limits.maxRequestBytes);
    this.#share = Math.max(Math.floor(this.#maxShared / 2), limits.maxRequestBytes);
    this.#small = Math.min(SMALL_BYTES, Math.floor(this.#maxReserved / 8));
    this.#isProxy = isProxy;
  }

  /** Registers a request that has begun. */
  begin(request: PendingUpload): void {
    if (this.#begun.push(request) === 1) defer(this.#round);
  }

  #check(): void {
    const begun = this.#begun;
    this.#begun = [];
    for (const request of begun) if (!request.hasArrived) request.wait();
  }

  /**
   * Starts counting a request.
   *
   * @param address of the client; empty if unknown.
   * @throws A2AError with reason TOO_MANY_REQUESTS if too many are arriving from this address.
   */
  open(address: string): BufferBudget {
    const name = sourceOf(address);
    const source = this.#sources.get(name) ?? new Source();
    const isProxy = address === "" || this.#isProxy(address);
    if (source.requests >= arriving.maxPerAddress && !isProxy) {
      throw limitReached(
        "maxArrivingPerAddress",
        `More than ${arriving.maxPerAddress} requests are arriving from one address.`,
      );
    }
    source.requests++;
    this.#sources.set(name, source);
    return new BufferBudget({
      move: (from, to) => this.#move(source, isProxy ? 1 : 2, from, to),
      close: (size) => {
        this.#free(source, size);
        if (--source.requests === 0) this.#sources.delete(name);
      },
    });
  }

  /** Changes the counted size of a request. */
  #move(source: Source, parts: number, from: Size, bytes: number): Size {
    this.#free(source, from);
    const all = this.#all;
    const share = parts === 1 ? this.#maxShared : this.#share;
    let size: Size | undefined;
    if (all.shared + bytes <= this.#maxShared && source.shared + bytes <= share) {
      size = { shared: bytes, reserved: 0 };
    } else if (bytes <= this.#small && all.reserved + bytes <= this.#maxReserved) {
      if (source.reserved + bytes <= this.#maxReserved / parts) size = { shared: 0, reserved: bytes };
    }
    const now = size ?? from;
    for (const each of [all, source]) {
      each.shared += now.shared;
      each.reserved += now.reserved;
    }
    if (size === undefined) {
      throw limitReached("maxArrivingBytes", `The requests that are arriving exceed ${this.#maxBytes} bytes.`);
    }
    return size;
  }

  #free(source: Source, { shared, reserved }: Size): void {
    for (const each of [this.#all, source]) {
      each.shared -= shared;
      each.reserved -= reserved;
    }
  }
}

/** Counted bytes of a request, by the part that they use. */
interface Size {
  readonly shared: number;
  readonly reserved: number;
}

interface Book {
  readonly move: (from: Size, bytes: number) => Size;
  readonly close: (size: Size) => void;
}

/** The bytes that are counted for one request. */
export class BufferBudget {
  readonly #book: Book;
  #size: Size = { shared: 0, reserved: 0 };
  #isOpen = true;

  constructor(book: Book) {
    this.#book = book;
  }

  /**
   * Counts further bytes.
   *
   * @throws A2AError with reason TOO_MANY_REQUESTS if they exceed a limit. They are not counted then.
   */
  take(bytes: number): void {
    if (!this.#isOpen) return;
    this.#size = this.#book.move(this.#size, this.#size.shared + this.#size.reserved + bytes);
  }

  /** Releases the bytes of a request that has arrived or was abandoned. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#book.close(this.#size);
  }
}
