import { callAll } from "../core/event-loop.js";

/** Whether writes succeed at present, as far as the store knows. */
export type StoreStatus = HealthyStore | UnhealthyStore;

/** Writes go through. */
export interface HealthyStore {
  readonly healthy: true;
}

/** Writes are refused, fail or hang; reads may go on. */
export interface UnhealthyStore {
  readonly healthy: false;
  /** What is wrong, in one sentence for the log. It may name paths, so it is not shown to clients. */
  readonly reason: string;
  /**
   * Whether opening the store anew may help, in this process or in another one. False where it would only be worse,
   * such as on a disk that is full or hangs: a process that has it open can still read, and goes on when the disk does.
   */
  readonly restartHelps: boolean;
}

/** Health of a store, with notification of changes. */
export interface StoreHealth {
  readonly status: StoreStatus;
  /** Calls back at every change of the status. The result takes the wish back. */
  onChange(listener: (status: StoreStatus) => void): () => void;
}

const healthy: HealthyStore = { healthy: true };

/** Reports the health of a store, used by its implementation. */
export class HealthSource implements StoreHealth {
  readonly #listeners = new Set<(status: StoreStatus) => void>();
  #status: StoreStatus = healthy;

  get status(): StoreStatus {
    return this.#status;
  }

  /** Says what is wrong, or that nothing is. Listeners hear of it when it is news. */
  report(trouble: Omit<UnhealthyStore, "healthy"> | undefined): void {
    const before = this.#status;
    if (trouble === undefined) {
      if (before.healthy) return;
      this.#status = healthy;
    } else {
      const { reason, restartHelps } = trouble;
      if (!before.healthy && before.reason === reason && before.restartHelps === restartHelps) return;
      this.#status = { healthy: false, reason, restartHelps };
    }
    callAll([...this.#listeners], this.#status);
  }

  onChange(listener: (status: StoreStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Health of a store that cannot fail. */
export const alwaysHealthy: StoreHealth = { status: healthy, onChange: () => () => {} };
