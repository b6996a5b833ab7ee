import { background, share } from "../core/async.js";
import type { EnginePushes } from "../engine/pushes.js";

/**
 * Share at the end of a lease in which nothing starts, so that earlier requests end before another process may start
 * the same ones.
 */
const LAST_PART = 1 / 4;

/** Last part of the lease in which unfinished requests are aborted. */
const LAST_MOMENT = 1 / 20;

/**
 * Tells if this process may send its claimed deliveries. Other processes take them over when it misses heartbeats for
 * one lease period. A process whose heartbeats do not arrive, or that was suspended, stops sending before that.
 */
export class LeaseGuard {
  readonly #pushes: Pick<EnginePushes, "heartbeatStatus" | "leaseMs">;
  readonly #isShared: boolean;
  #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** @param isShared true if other processes may have the store: otherwise its claims are never taken over */
  constructor(pushes: Pick<EnginePushes, "heartbeatStatus" | "leaseMs">, isShared: boolean) {
    this.#pushes = pushes;
    this.#isShared = isShared;
  }

  /** Number of times that others evicted this process: earlier claims have to be checked. */
  get epoch(): number {
    return this.#isShared ? this.#pushes.heartbeatStatus.epoch : 0;
  }

  /** True if a request may start. */
  get isSure(): boolean {
    if (!this.#isShared) return true;
    const { heartbeatStatus, leaseMs } = this.#pushes;
    return performance.now() < heartbeatStatus.until - leaseMs * LAST_PART;
  }

  /** Aborts requests that start now when the lease is about to end; undefined if the store is not shared. */
  get signal(): AbortSignal | undefined {
    if (!this.#isShared) return undefined;
    if (this.#timer === undefined) this.#arm();
    return this.#over.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    share(this.#over.signal);
    this.#timer = background(setTimeout(() => this.#check(), Math.max(1, this.#leftMs)));
  }

  get #leftMs(): number {
    const { heartbeatStatus, leaseMs } = this.#pushes;
    return heartbeatStatus.until - leaseMs * LAST_MOMENT - performance.now();
  }

  #check(): void {
    this.#timer = undefined;
    if (this.#leftMs > 0) return this.#arm();
    this.#over.abort();
    this.#over = new AbortController();
  }
}
