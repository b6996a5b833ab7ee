import { toAttempt, toDead } from "../delivery-rows.js";
import { type HeadRow, toHead } from "../head-rows.js";
import type { Request } from "../request.js";
import { READ_BYTES, readEntries, salvageEntries } from "../segment.js";
import { TERMINAL } from "../states.js";
import {
  type DeadDelivery,
  type DeliveryPage,
  type FailedAttempt,
  type HeldLease,
  type IdempotencyRecord,
  type ListPage,
  type LoadedTask,
  type PushConfigKey,
  type StoredConversation,
  type StoredPushConfig,
  type StoredSnapshot,
  StoreError,
  type TaskHead,
  type TaskScope,
} from "../task-store.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { listSql, pageValues, shapeOf, totalValues } from "./list.js";
import { OperatorReader } from "./operator-reader.js";
import { listDeliveries } from "./push-list.js";
import { attemptRows, deadRows } from "./push-rows.js";
import { findSend, HEAD_COLUMNS, type ListedRow, toListedHead } from "./rows.js";

type SegmentRow = [last: number, count: number, bytes: Uint8Array];
type ConfigRow = [configId: string, bytes: Uint8Array, position: number];

/** Bounds of a page of entries, and how they are read from their segments. */
interface EntriesPage {
  readonly limit: number;
  readonly from: typeof readEntries;
}

const HEAD = `SELECT ${HEAD_COLUMNS} FROM head WHERE task_id = ?`;
const HEAD_OF = `${HEAD} AND tenant = ? AND owner = ?`;
const PIECE =
  "SELECT b.bytes FROM snapshot_piece p JOIN blob b ON b.id = p.blob " +
  "WHERE p.task_id = ? AND p.position = ? AND p.piece = ?";
const SEGMENTS =
  "SELECT s.last, s.count, coalesce(b.bytes, s.bytes) FROM segment s LEFT JOIN blob b ON b.id = s.blob " +
  "WHERE s.task_id = ? AND s.last > ? ORDER BY s.last";
const OPEN = `SELECT coalesce(sum(tasks), 0) FROM counter WHERE tenant = ? AND owner = ? AND state NOT IN (${TERMINAL})`;
const INTERRUPTED =
  `SELECT ${HEAD_COLUMNS} FROM head INDEXED BY head_interrupted WHERE state IN (6, 8) AND status_time < ? ` +
  "AND (status_time, task_id) > (?, ?) ORDER BY status_time, task_id LIMIT ?";
const LEASES =
  "SELECT task_id, lease_turn, lease_attempt FROM head INDEXED BY head_leased WHERE lease_holder = ? AND task_id > ? " +
  "ORDER BY task_id LIMIT ?";
const DUE =
  "SELECT at FROM push_config INDEXED BY push_due WHERE state = 1 AND holder IS NULL AND at > ? ORDER BY at LIMIT 1";
const CONFIGS = "SELECT config_id, bytes, position FROM push_config WHERE task_id = ?";
const ONE_CONFIG = `${CONFIGS} AND config_id = ?`;
const ALL_CONFIGS =
  "SELECT task_id, config_id, bytes FROM push_config INDEXED BY push_config_by_id WHERE (task_id, config_id) > (?, ?) " +
  "ORDER BY task_id, config_id LIMIT ?";

/** All reads, on a separate connection that sees committed data and waits for no writer. */
export class Reader {
  readonly #db: Database;
  readonly #reads: Reads;
  readonly operators: OperatorReader;
  #retired = false;

  constructor(db: Database) {
    this.#db = db;
    this.#reads = new Reads(db);
    this.operators = new OperatorReader(db, (method, query) =>
      this.#guarded(method, () => inReadTransaction(db, query)),
    );
  }

  /** Runs a read. @throws StoreError */
  call<M extends keyof Reads>(method: M, request: Parameters<Reads[M]>[0]): ReturnType<Reads[M]> {
    // A method and its own request, which the compiler cannot see through the parameter M.
    const read = this.#reads[method] as (this: Reads, request: unknown) => ReturnType<Reads[M]>;
    return this.#guarded(method, () => read.call(this.#reads, request));
  }

  /** Returns reads as methods of a store. */
  methods<M extends keyof Reads>(
    names: readonly M[],
  ): { [K in M]: (request: Parameters<Reads[K]>[0]) => Promise<ReturnType<Reads[K]>> } {
    const methods = names.map((name) => [name, async (request: never) => this.call(name, request)]);
    return Object.fromEntries(methods);
  }

  /** Current schema version of the file. */
  version(): number {
    return this.#db.values<number>("PRAGMA user_version").get() ?? 0;
  }

  /** Refuses every later call. */
  retire(): void {
    this.#retired = true;
  }

  close(): void {
    this.retire();
    this.#db.close();
  }

  #guarded<T>(method: string, query: () => T): T {
    if (this.#retired) throw new StoreError("closed", "The store is closed.");
    try {
      return query();
    } catch (error) {
      throw toStoreError(error, `The store failed at ${method}`);
    }
  }
}

/** The reads of the store's interface, and those of its push part. Errors are those of SQLite. */
class Reads {
  readonly #db: Database;
  /** Bytes that were read since it was set to 0. */
  #bytes = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  head({ taskId }: Request<"head">): TaskHead | undefined {
    const row = this.#db.rows<HeadRow>(HEAD).get(taskId);
    return row && toHead(row);
  }

  heads({ taskIds }: Request<"heads">): TaskHead[] {
    return taskIds.flatMap((taskId) => this.head({ taskId }) ?? []);
  }

  load({ taskId, of }: Request<"load">): LoadedTask | undefined {
    return inReadTransaction(this.#db, () => this.#load(taskId, of));
  }

  loadMany({ taskIds }: Request<"loadMany">): (LoadedTask | undefined)[] {
    return inReadTransaction(this.#db, () => {
      const loaded: (LoadedTask | undefined)[] = [];
      this.#bytes = 0;
      for (const taskId of taskIds) {
        loaded.push(this.#load(taskId));
        if (this.#bytes >= READ_BYTES) break;
      }
      return loaded;
    });
  }

  readSnapshot({ taskId, position, piece }: Request<"readSnapshot">): Uint8Array | undefined {
    const bytes = this.#db.values<Uint8Array>(PIECE).get(taskId, position, piece);
    return bytes && asUint8Array(bytes);
  }

  read({ taskId, after, limit, salvage }: Request<"read">): Uint8Array[] {
    return this.#entries(taskId, after, { limit, from: salvage ? salvageEntries : readEntries });
  }

  list(request: Request<"list">): ListPage {
    return inReadTransaction(this.#db, () => {
      const { page, total } = listSql(shapeOf(request));
      const rows = this.#db.rows<ListedRow>(page).all(...pageValues(request));
      return {
        heads: rows.map((row) => toListedHead(row, request)),
        total: this.#db.values<number>(total).get(...totalValues(request)) ?? 0,
      };
    });
  }

  countOpen({ tenant, owner }: Request<"countOpen">): number {
    const open = this.#db.values<number>(OPEN);
    if (tenant !== undefined) return open.get(tenant, owner) ?? 0;
    const elsewhere = this.#db.values<number>("SELECT tasks FROM owner_total WHERE owner = ?");
    return inReadTransaction(this.#db, () => (open.get("", owner) ?? 0) + (elsewhere.get(owner) ?? 0));
  }

  listInterrupted({ before, after, limit }: Request<"listInterrupted">): TaskHead[] {
    const { statusTime = Number.MIN_SAFE_INTEGER, taskId = "" } = after ?? {};
    return this.#db.rows<HeadRow>(INTERRUPTED).all(before, statusTime, taskId, limit).map(toHead);
  }

  findSend(key: Request<"findSend">): IdempotencyRecord | undefined {
    return findSend(this.#db, key);
  }

  conversation({ tenant, owner, contextId }: Request<"conversation">): StoredConversation | undefined {
    const sql = "SELECT version, bytes FROM conversation WHERE tenant = ? AND owner = ? AND context_id = ?";
    const row = this.#db.rows<[number, Uint8Array]>(sql).get(tenant, owner, contextId);
    return row && { version: row[0], bytes: asUint8Array(row[1]) };
  }

  leasesOf({ holder, after, limit }: Request<"leasesOf">): HeldLease[] {
    const rows = this.#db.rows<[taskId: string, turn: number, attempt: number]>(LEASES).all(holder, after, limit);
    return rows.map(([taskId, turn, attempt]) => ({ taskId, holder, turn, attempt }));
  }

  getPushConfig({ taskId, configId }: Request<"getPushConfig">): StoredPushConfig | undefined {
    const row = this.#db.rows<ConfigRow>(ONE_CONFIG).get(taskId, configId);
    return row && toConfig(row);
  }

  listPushConfigs(request: Request<"listPushConfigs">): { configId: string; config: StoredPushConfig }[] {
    const configs = this.#db.rows<ConfigRow>(`${CONFIGS} AND config_id > ? ORDER BY config_id LIMIT ?`);
    const rows = configs.all(request.taskId, request.after, request.limit);
    return rows.map((row) => ({ configId: row[0], config: toConfig(row) }));
  }

  scanPushConfigs({ after, limit }: Request<"scanPushConfigs">): (PushConfigKey & { readonly bytes: Uint8Array })[] {
    const configs = this.#db.rows<[taskId: string, configId: string, bytes: Uint8Array]>(ALL_CONFIGS);
    const rows = configs.all(after?.taskId ?? "", after?.configId ?? "", limit);
    return rows.map(([taskId, configId, bytes]) => ({ taskId, configId, bytes: asUint8Array(bytes) }));
  }

  /** Returns the first time after `after` at which an unheld configuration is due. */
  nextDelivery(after: number): number | undefined {
    return this.#db.values<number>(DUE).get(after);
  }

  /** True if a delivery is due after a time, claimed or not. */
  hasDeliveryAfter(time: number): boolean {
    const late = "SELECT 1 FROM push_config INDEXED BY push_held WHERE holder IS NOT NULL AND at > ? LIMIT 1";
    return this.nextDelivery(time) !== undefined || this.#db.values(late).get(time) !== undefined;
  }

  /** True if a claim may find a delivery: due, or held by a process that may be gone. */
  mayClaimDeliveries({ now, holder, again }: Request<"claimDeliveries">): boolean {
    const next = this.nextDelivery(Number.MIN_SAFE_INTEGER);
    const held = "SELECT 1 FROM push_config INDEXED BY push_held WHERE holder > '' AND holder <> ? LIMIT 1";
    return again === true || (next !== undefined && next <= now) || this.#db.values(held).get(holder) !== undefined;
  }

  listDeadDeliveries(request: Request<"listDeadDeliveries">): DeadDelivery[] {
    return deadRows(this.#db, request).map(toDead);
  }

  listDeliveries(request: Request<"listDeliveries">): DeliveryPage {
    return listDeliveries(this.#db, request);
  }

  listAttempts(key: Request<"listAttempts">): FailedAttempt[] {
    return attemptRows(this.#db, key).map(toAttempt);
  }

  #load(taskId: string, of?: TaskScope): LoadedTask | undefined {
    // SQLite compares the owner: a task of another owner costs no more to read than a missing one.
    const row =
      of === undefined
        ? this.#db.rows<HeadRow>(HEAD).get(taskId)
        : this.#db.rows<HeadRow>(HEAD_OF).get(taskId, of.tenant, of.owner);
    if (row === undefined) return undefined;
    const snapshot = this.#loadSnapshot(taskId);
    const whole = snapshot?.pieces === undefined;
    const all = { limit: Number.POSITIVE_INFINITY, from: readEntries };
    const entries = whole ? this.#entries(taskId, snapshot?.position ?? 0, all) : [];
    return { head: toHead(row), snapshot, entries };
  }

  #loadSnapshot(taskId: string): StoredSnapshot | undefined {
    const row = this.#db.rows<[number, number]>("SELECT position, pieces FROM snapshot WHERE task_id = ?").get(taskId);
    if (row === undefined) return undefined;
    const [position, pieces] = row;
    const bytes = this.readSnapshot({ taskId, position, piece: 0 });
    // Pieces are deleted before their snapshot row: without the first piece the snapshot does not exist.
    if (bytes === undefined) return undefined;
    this.#bytes += bytes.length;
    return pieces === 1 ? { position, bytes } : { position, bytes, pieces };
  }

  /** Reads entries, about `READ_BYTES` at most. */
  #entries(taskId: string, after: number, { limit, from }: EntriesPage): Uint8Array[] {
    const entries: Uint8Array[] = [];
    let bytes = 0;
    if (limit <= 0) return entries;
    for (const [last, count, blob] of this.#db.rows<SegmentRow>(SEGMENTS).iterate(taskId, after)) {
      const skip = Math.max(0, after - (last - count));
      from({ count, bytes: blob }, skip, limit, entries);
      bytes += blob.length;
      if (entries.length >= limit || bytes >= READ_BYTES) break;
    }
    this.#bytes += bytes;
    return entries;
  }
}

/** Runs several statements on one consistent view of the data. */
function inReadTransaction<T>(db: Database, query: () => T): T {
  db.command("BEGIN").run();
  try {
    return query();
  } finally {
    db.command("COMMIT").run();
  }
}

function toConfig([, bytes, position]: ConfigRow): StoredPushConfig {
  return { bytes: asUint8Array(bytes), position };
}

/** SQLite's driver returns Buffers, which compare and slice differently; callers get plain arrays. */
function asUint8Array(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
