/** Part of the store interface for operators: counts of the store, and observation of its commits. */
export interface CensusStore {
  /** Kind of the store in one word, such as `sqlite`. */
  readonly kind: string;
  /** Counts tasks and deliveries. The cost depends on the number of owners, but not on that of their tasks. */
  census(): Promise<Census>;
  /**
   * Calls the observer after each transaction of this process; only the last given one is called. A store without
   * transactions never calls it. The observer must not throw.
   */
  onCommit(observer: CommitObserver): void;
}

/** Receives the duration of a transaction, synced to disk, in seconds, and the number of its writes. */
export type CommitObserver = (seconds: number, writes: number) => void;

/** Size and counts of a store. The last three counts stop at `CENSUS_LIMIT`. */
export interface Census {
  /** Size of the files in bytes; 0 without files. */
  readonly bytes: number;
  /** Tasks that have not ended. */
  readonly openTasks: number;
  /** Tasks that wait for their client (INPUT_REQUIRED, AUTH_REQUIRED). */
  readonly interrupted: number;
  /** Push configurations with entries to deliver. */
  readonly due: number;
  /** Push configurations whose deliveries were given up. */
  readonly dead: number;
}

/** Highest number that `CensusStore.census` reports. */
export const CENSUS_LIMIT = 10_000;
