import { background } from "../core/async.js";
import type { EnginePushes } from "../engine/pushes.js";

/** Nothing is begun in the last part of a lease: what is begun before has time to end before another process may begin the same. */
const LAST_PART = 1 / 4;

/** What has not ended by then is broken off, so long before the end of the lease, as a part of it. */
const LAST_MOMENT = 1 / 20;

/**
 * Whether this process may send what it has claimed, as others see it: they take over what it has when it has shown no sign of life for
 * a lease. A process whose signs of life do not arrive, or that was stopped, sends nothing in time before that.
 */
export class LifeWatch {
  readonly #pushes: Pick<EnginePushes, "life" | "leaseMs">;
  readonly #isShared: boolean;
  #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** @param isShared whether other processes may have the store: nobody takes anything over otherwise */
  constructor(pushes: Pick<EnginePushes, "life" | "leaseMs">, isShared: boolean) {
    this.#pushes = pushes;
    this.#isShared = isShared;
  }

  /** How often others have given this process up: what it had before has to be looked at. */
  get epoch(): number {
    return this.#isShared ? this.#pushes.life.epoch : 0;
  }

  /** Whether something may be begun. */
  get isSure(): boolean {
    if (!this.#isShared) return true;
    const { life, leaseMs } = this.#pushes;
    return performance.now() < life.until - leaseMs * LAST_PART;
  }

  /** Breaks off what is begun now when the lease comes to its end; undefined where nobody takes anything over. */
  get signal(): AbortSignal | undefined {
    if (!this.#isShared) return undefined;
    if (this.#timer === undefined) this.#arm();
    return this.#over.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    this.#timer = background(setTimeout(() => this.#look(), Math.max(1, this.#leftMs)));
  }

  get #leftMs(): number {
    const { life, leaseMs } = this.#pushes;
    return life.until - leaseMs * LAST_MOMENT - performance.now();
  }

  #look(): void {
    this.#timer = undefined;
    if (this.#leftMs > 0) return this.#arm();
    this.#over.abort();
    this.#over = new AbortController();
  }
}
