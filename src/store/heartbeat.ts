import type { HeartbeatRequest } from "./task-store.js";

interface Holder {
  readonly request: HeartbeatRequest;
  /** Time of the last heartbeat of its own event loop. */
  own: number;
  /** Time of the last stored heartbeat. */
  last: number;
}

/**
 * Sends heartbeats for the holders of this process from another thread, because an agent may block the event loop.
 * Stops after `maxStallMs`, so that a process whose loop never recovers is evicted.
 */
export class Heartbeat {
  readonly #send: (request: HeartbeatRequest) => void;
  readonly #holders = new Map<string, Holder>();
  #timer: NodeJS.Timeout | undefined;
  #every = Number.POSITIVE_INFINITY;

  constructor(send: (request: HeartbeatRequest) => void) {
    this.#send = send;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Records a heartbeat of a holder's own event loop. */
  note(request: HeartbeatRequest): void {
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
