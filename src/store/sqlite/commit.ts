import { StoreError } from "../task-store.js";
import { append } from "./append.js";
import { Counters } from "./counters.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { Leases } from "./leases.js";
import { PushClaims } from "./push-claims.js";
import {
  completeDelivery,
  deletePushConfig,
  putPushConfig,
  redriveDeliveries,
  rescheduleDeliveries,
  rewritePushConfig,
  savePushPosition,
} from "./push-configs.js";
import { Removal } from "./removal.js";
import { addBlob } from "./rows.js";
import type { OtherWrite, Write, WriteMethod, WriteRequest, WriteResult } from "./write.js";

/** Outcome of a write: the method's result, or its error. */
export type Outcome = { readonly result: unknown } | { readonly error: StoreError };

type Handlers = { [M in WriteMethod]: (request: WriteRequest<M>) => WriteResult<M> };

/**
 * Group commit: many writes, one transaction. A rejection precedes any change and concerns its write alone. When SQLite
 * itself fails on a write (an unsupported value, a full disk), the transaction is rolled back and each write is retried
 * in its own transaction, so that only the culprit fails.
 */
export class Committer {
  readonly #db: Database;
  readonly #counters: Counters;
  readonly #leases: Leases;
  readonly #removal: Removal;
  readonly #handlers: Handlers;
  readonly #schema: number | undefined;
  #foreign: number | undefined;

  /**
   * @param deadHolders lease holders whose processes are gone; undefined if unknown
   * @param schema version that the file must have; undefined if no other process can change it
   * @param ended some of the holders whose processes are gone, if not all are known
   */
  constructor(db: Database, deadHolders: readonly string[] | undefined, schema?: number, ended?: readonly string[]) {
    this.#db = db;
    this.#schema = schema;
    this.#counters = new Counters(db);
    this.#removal = new Removal(db, this.#counters);
    const pushClaims = new PushClaims(db);
    const leases = new Leases(db, deadHolders, ended);
    this.#leases = leases;
    this.#handlers = {
      saveSnapshot: (request) => saveSnapshot(db, request),
      claimLeases: (request) => leases.claim(request),
      heartbeat: (request) => leases.heartbeat(request),
      heartbeatForHolder: (request) => leases.heartbeat(request, true),
      setLease: (request) => leases.set(request),
      putPushConfig: (request) => putPushConfig(db, request),
      rewritePushConfig: (request) => rewritePushConfig(db, request),
      deletePushConfig: (request) => deletePushConfig(db, request),
      claimDeliveries: (request) => pushClaims.claim(request, leases),
      savePushPosition: (request) => savePushPosition(db, request),
      completeDelivery: (request) => completeDelivery(db, request),
      redriveDeliveries: (request) => redriveDeliveries(db, request),
      rescheduleDeliveries: (request) => rescheduleDeliveries(db, request),
      removeFinished: (request) => this.#removal.removeFinished(request),
      removeTasks: (request) => this.#removal.removeTasks(request),
    };
  }

  /** Schema version to which another program brought the file, once detected: all writes stop. */
  get foreign(): number | undefined {
    return this.#foreign;
  }

  /** Performs the writes in order and returns after they are durable. */
  commit(writes: readonly Write[]): Outcome[] {
    try {
      // Takes the write lock at the start, so that checks stay true until the write, despite other processes.
      this.#db.command("BEGIN IMMEDIATE").run();
      if (this.#schema !== undefined) this.#checkVersion(this.#schema);
      const outcomes: Outcome[] = [];
      for (const write of writes) {
        const outcome = this.#one(write);
        if ("error" in outcome && isTrouble(outcome.error)) {
          this.#rollBack();
          return writes.length === 1 ? [outcome] : writes.flatMap((each) => this.commit([each]));
        }
        outcomes.push(outcome);
      }
      this.#counters.flush();
      this.#db.command("COMMIT").run();
      this.#leases.committed();
      return outcomes;
    } catch (thrown) {
      this.#rollBack();
      const error = toStoreError(thrown, "The commit failed");
      return writes.map(() => ({ error }));
    }
  }

  /** Bytes returned to the file system since the last call; the file shrinks at the next checkpoint. */
  takeGivenBack(): number {
    return this.#removal.takeGivenBack();
  }

  #one(write: Write): Outcome {
    try {
      if (write.method === "append") return { result: append(this.#db, this.#counters, write) };
      // The table has the right handler for each method, which the compiler cannot see through a union.
      const handler = this.#handlers[write.method] as (request: OtherWrite["request"]) => unknown;
      return { result: handler(write.request) };
    } catch (thrown) {
      return { error: toStoreError(thrown, `The store failed at ${write.method}`) };
    }
  }

  /** Runs under the write lock, so that the version holds until the commit. Takes two microseconds. */
  #checkVersion(schema: number): void {
    const version = this.#db.values<number>("PRAGMA user_version").get();
    if (version === schema) return;
    this.#foreign = version;
    throw new StoreError("unavailable", `The schema became version ${version}.`);
  }

  #rollBack(): void {
    this.#counters.clear();
    this.#leases.rolledBack();
    if (this.#db.inTransaction) this.#db.command("ROLLBACK").run();
  }
}

/** A rejection leaves the transaction unchanged; any other error may have stopped half-way. */
function isTrouble(error: StoreError): boolean {
  return error.kind === "failed" || error.kind === "unavailable" || error.kind === "damaged";
}

/** Each saved piece of a new snapshot deletes this many pieces of the previous one, which may be large. */
const DROPPED_AT_ONCE = 2;

/**
 * Writes a snapshot, only of an existing task: one saved after the removal of its task would never be deleted. The
 * previous snapshot stays valid until the last piece is stored, also after a crash between two pieces.
 */
function saveSnapshot(db: Database, { taskId, snapshot }: WriteRequest<"saveSnapshot">): void {
  const { position, bytes, piece = 0, last = true } = snapshot;
  const newest = "SELECT s.position FROM head h LEFT JOIN snapshot s ON s.task_id = h.task_id WHERE h.task_id = ?";
  const known = db.values<number | null>(newest).get(taskId);
  if (known === undefined || (known !== null && known >= position)) return;
  const drop = db.command("DELETE FROM blob WHERE id = ?");
  const blobOf = "SELECT blob FROM snapshot_piece WHERE task_id = ? AND position = ? AND piece = ?";
  const there = db.values<number>(blobOf).get(taskId, position, piece);
  if (there !== undefined) drop.run(there);
  const add =
    "INSERT INTO snapshot_piece (task_id, position, piece, blob) VALUES (?, ?, ?, ?) " +
    "ON CONFLICT DO UPDATE SET blob = excluded.blob";
  db.command(add).run(taskId, position, piece, addBlob(db, bytes));
  if (last) {
    const announce =
      "INSERT INTO snapshot (task_id, position, pieces) VALUES (?, ?, ?) ON CONFLICT DO UPDATE " +
      "SET position = excluded.position, pieces = excluded.pieces";
    db.command(announce).run(taskId, position, piece + 1);
  }
  const old = "SELECT position, piece, blob FROM snapshot_piece WHERE task_id = ? AND position < ? LIMIT ?";
  const before = (last ? position : known) ?? 0;
  for (const [at, index, blob] of db.rows<[number, number, number]>(old).all(taskId, before, DROPPED_AT_ONCE)) {
    db.command("DELETE FROM snapshot_piece WHERE task_id = ? AND position = ? AND piece = ?").run(taskId, at, index);
    drop.run(blob);
  }
}
