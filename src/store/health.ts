import { callAll } from "../core/event-loop.js";

/** Health of writes, as far as the store knows. */
export type StoreStatus = HealthyStore | UnhealthyStore;

/** Writes succeed. */
interface HealthyStore {
  readonly healthy: true;
}

/** Writes are refused, fail or hang; reads may continue. */
interface UnhealthyStore {
  readonly healthy: false;
  /** The reason, in one sentence for the log. It may name paths, so it is not shown to clients. */
  readonly reason: string;
  /**
   * True if reopening the store, in this process or another, may help. False where that would make it worse, such as on
   * a full or hanging disk: a process that has the store open can still read, and resumes writing when the disk
   * recovers.
   */
  readonly restartHelps: boolean;
}

/** Health of a store, with notification of changes. */
export interface StoreHealth {
  readonly status: StoreStatus;
  /** Calls the listener at every change of the status. The returned function unsubscribes it. */
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

  /** Sets the status: unhealthy with a reason, or healthy. Notifies the listeners of a change. */
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
