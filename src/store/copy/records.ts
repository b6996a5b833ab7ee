export type Value = string | number | null | Uint8Array;

/** A record: the values of its columns, in their order. */
export type Row = readonly Value[];

/**
 * Contents of a store, in a form that is the same for all databases. A copy never leaves the process, so the form has
 * no version of its own: both stores have the schema of this release.
 *
 * - `task` has no holder of its lease: no process has the copy, so anyone can claim it. Without a lease `lease_turn` is
 *   null.
 * - `piece` has the pieces of the valid snapshot alone.
 * - `config` has no claim. Due deliveries stay due, and dead ones dead.
 * - Data that can be computed is left out: counters, marks, and the order in which a store arranges its rows.
 */
export const columns = {
  task: "task_id, tenant, owner, context_id, state, status_time, position, generation, lease_turn, lease_attempt",
  segment: "task_id, last, count, bytes",
  snapshot: "task_id, position, pieces",
  piece: "task_id, position, piece, bytes",
  send: "task_id, tenant, owner, key, fingerprint, position",
  config: "task_id, config_id, tenant, owner, target, position, state, at, attempts, failing_since, failure, bytes",
  attempt: "task_id, config_id, number, time, duration_ms, generation, status, answer, failure, holder",
  conversation: "tenant, owner, context_id, version, bytes",
  restoration: "number, until, id",
} as const;

export type Kind = keyof typeof columns;

/** Records of one kind, of about `BATCH_BYTES` at most. */
export interface Batch {
  readonly kind: Kind;
  readonly rows: readonly Row[];
}

/** Number of tasks that are read before the records that belong to them. */
export const PAGE_TASKS = 500;

/** Maximum number of rows in a batch. */
export const BATCH_ROWS = 5_000;

/** A batch ends with the row that reaches this size, in bytes of its values. */
export const BATCH_BYTES: number = 1024 * 1024;

export function* inBatches(kind: Kind, rows: Iterable<Row>): Generator<Batch> {
  let batch: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    batch.push(row);
    for (const value of row) if (value instanceof Uint8Array) bytes += value.length;
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    yield { kind, rows: batch };
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield { kind, rows: batch };
}

/** Called before a store is watched for the heartbeats of servers, with its name and the time in milliseconds. */
export type OnWatch = (name: string, ms: number) => void;

/** A store that is read for a copy. */
export interface CopySource {
  /** Name for messages: an address without its secrets, or a path. */
  readonly name: string;
  countTasks(): Promise<number>;
  /**
   * All records at one moment: pages of tasks by the UTF-8 bytes of their ids, each followed by the records of its tasks,
   * kind by kind in the order of `columns`, those of one task by their keys; then the records without a task.
   */
  read(): AsyncIterable<Batch>;
  /** @throws StoreError `failed` if a server has used the store since it was opened for the copy */
  checkUnused(): Promise<void>;
  close(): Promise<void>;
}

/** A store that is filled by a copy, and marked as unfinished until it is complete. */
export interface CopyTarget extends CopySource {
  write(batch: Batch): Promise<void>;
  /** Writes the rows that follow from the records. */
  finish(): Promise<void>;
  /** Removes the mark: the store can be served. */
  complete(): Promise<void>;
}
