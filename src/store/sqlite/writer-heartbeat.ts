import type { Write, WriteRequest } from "./write.js";

type Request = WriteRequest<"heartbeat">;

interface Holder {
  readonly request: Request;
  /** Time of the last heartbeat of its own event loop. */
  own: number;
  /** Time of the last stored heartbeat. */
  last: number;
}

/**
 * Sends heartbeats for the holders of this process from the writer thread, because an agent may block the event loop.
 * Stops after `maxStallMs`, so that a process whose loop never recovers is evicted.
 */
export class Heartbeat {
  readonly #send: (request: Request) => void;
  readonly #holders = new Map<string, Holder>();
  #timer: NodeJS.Timeout | undefined;
  #every = Number.POSITIVE_INFINITY;

  constructor(send: (request: Request) => void) {
    this.#send = send;
  }

  /** Records the heartbeats among incoming writes. */
  note(writes: readonly Write[]): void {
    for (const write of writes) if (write.method === "heartbeat") this.#note(write.request);
  }

  /** Stops the timer. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #note(request: Request): void {
    const now = performance.now();
    this.#holders.set(request.holder, { request, own: now, last: now });
    // With the heartbeats skipped below, at most half a lease passes between two.
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
        this.#send({ ...holder.request, again: true });
        holder.last = now;
      }
    }
  }
}
