import type { Write, WriteRequest } from "./write.js";

type Beat = WriteRequest<"beat">;

interface Holder {
  readonly request: Beat;
  /** When its own event loop showed life last. */
  own: number;
  /** When it was last said that it lives. */
  last: number;
}

/**
 * Says for the holders of this process that they live, from the writer's thread: an event loop that an agent blocks
 * does not say so itself. It does for `maxStallMs`, so that one that never comes back is given up.
 */
export class Heartbeat {
  readonly #beat: (request: Beat) => void;
  readonly #holders = new Map<string, Holder>();
  #timer: NodeJS.Timeout | undefined;
  #every = Number.POSITIVE_INFINITY;

  constructor(beat: (request: Beat) => void) {
    this.#beat = beat;
  }

  /** Takes notice of signs of life among the writes that came. */
  note(writes: readonly Write[]): void {
    for (const write of writes) if (write.method === "beat") this.#note(write.request);
  }

  /** Ends it. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #note(request: Beat): void {
    const now = performance.now();
    this.#holders.set(request.holder, { request, own: now, last: now });
    // Together with what is not said twice below: at most half a lease between two signs.
    const every = Math.max(10, request.leaseMs / 6);
    if (every >= this.#every) return;
    this.#every = every;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#tick(), every);
  }

  #tick(): void {
    const now = performance.now();
    for (const [id, holder] of this.#holders) {
      const { leaseMs, maxStallMs } = holder.request;
      if (now - holder.own > maxStallMs) this.#holders.delete(id);
      else if (now - holder.last >= leaseMs / 3) {
        this.#beat({ ...holder.request, again: true });
        holder.last = now;
      }
    }
  }
}
