import { toAttempt, toDead } from "../delivery-rows.js";
import { type HeadRow, toHead } from "../head-rows.js";
import { READ_BYTES, readEntries, salvageEntries } from "../segment.js";
import { TERMINAL } from "../states.js";
import {
  type ClaimDeliveries,
  type ConversationKey,
  type DeadDelivery,
  type DeadDeliveryRequest,
  type DeliveryPage,
  type FailedAttempt,
  type HeldLease,
  type IdempotencyKey,
  type IdempotencyRecord,
  type InterruptedRequest,
  type ListDeliveries,
  type ListPage,
  type ListRequest,
  type LoadedTask,
  type LoadRequest,
  type PushConfigKey,
  type ReadRequest,
  type StoredConversation,
  type StoredPushConfig,
  type StoredSnapshot,
  StoreError,
  type TaskHead,
  type TaskScope,
} from "../task-store.js";
import type { Command, Database, Query } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { type ListSql, listSql, pageValues, shapeOf, totalValues } from "./list.js";
import { OperatorReader } from "./operator-reader.js";
import { DeliveryLists } from "./push-list.js";
import { type AttemptsQuery, attemptsQuery, type DeadQuery, deadQuery, deadValues } from "./push-rows.js";
import { HEAD_COLUMNS, type ListedRow, toListedHead } from "./rows.js";

type SegmentRow = [last: number, count: number, bytes: Uint8Array];
type ConfigRow = [configId: string, bytes: Uint8Array, position: number];

/** Bounds of a page of entries, and how they are read from their segments. */
interface EntriesPage {
  readonly limit: number;
  readonly maxBytes: number;
  readonly from: typeof readEntries;
}

interface ListStatements {
  readonly page: Query<(string | number)[], ListedRow>;
  readonly total: Query<(string | number)[], number>;
}

/** All reads, on a separate connection that sees committed data and waits for no writer. */
export class Reader {
  readonly #db: Database;
  readonly #begin: Command<[]>;
  readonly #end: Command<[]>;
  readonly #version: Query<[], number>;
  readonly #head: Query<[string], HeadRow>;
  readonly #headOf: Query<[string, string, string], HeadRow>;
  readonly #snapshot: Query<[string], [position: number, pieces: number]>;
  readonly #piece: Query<[string, number, number], Uint8Array>;
  readonly #segments: Query<[string, number], SegmentRow>;
  readonly #send: Query<[string, string, string], [string, string, number]>;
  readonly #conversation: Query<[string, string, string], [version: number, bytes: Uint8Array]>;
  readonly #open: Query<[string, string], number>;
  readonly #openElsewhere: Query<[string], number>;
  readonly #interrupted: Query<[number, number, string, number], HeadRow>;
  readonly #leases: Query<[string, string, number], [taskId: string, turn: number, attempt: number]>;
  readonly #config: Query<[string, string], ConfigRow>;
  readonly #configs: Query<[string, string, number], ConfigRow>;
  readonly #allConfigs: Query<[string, string, number], [taskId: string, configId: string, bytes: Uint8Array]>;
  readonly #due: Query<[number], number>;
  readonly #isHeld: Query<[string], number>;
  readonly #isHeldLate: Query<[number], number>;
  readonly #dead: DeadQuery;
  readonly #deliveries: DeliveryLists;
  readonly #attempts: AttemptsQuery;
  readonly #lists = new Map<string, ListStatements>();
  readonly operators: OperatorReader;
  /** Bytes that were read since it was set to 0. */
  #bytes = 0;
  #retired = false;

  constructor(db: Database) {
    this.#db = db;
    this.operators = new OperatorReader(db, (method, query) => this.#atOnce(method, query));
    this.#begin = db.command("BEGIN");
    this.#end = db.command("COMMIT");
    this.#version = db.values<[], number>("PRAGMA user_version");
    this.#head = db.rows<[string], HeadRow>(`SELECT ${HEAD_COLUMNS} FROM head WHERE task_id = ?`);
    this.#headOf = db.rows<[string, string, string], HeadRow>(
      `SELECT ${HEAD_COLUMNS} FROM head WHERE task_id = ? AND tenant = ? AND owner = ?`,
    );
    this.#open = db.values<[string, string], number>(
      `SELECT coalesce(sum(tasks), 0) FROM counter WHERE tenant = ? AND owner = ? AND state NOT IN (${TERMINAL})`,
    );
    this.#openElsewhere = db.values<[string], number>("SELECT tasks FROM owner_total WHERE owner = ?");
    this.#snapshot = db.rows<[string], [number, number]>("SELECT position, pieces FROM snapshot WHERE task_id = ?");
    this.#piece = db.values<[string, number, number], Uint8Array>(
      "SELECT b.bytes FROM snapshot_piece p JOIN blob b ON b.id = p.blob " +
        "WHERE p.task_id = ? AND p.position = ? AND p.piece = ?",
    );
    this.#segments = db.rows<[string, number], SegmentRow>(
      "SELECT s.last, s.count, coalesce(b.bytes, s.bytes) FROM segment s LEFT JOIN blob b ON b.id = s.blob " +
        "WHERE s.task_id = ? AND s.last > ? ORDER BY s.last",
    );
    this.#send = db.rows<[string, string, string], [string, string, number]>(
      "SELECT fingerprint, task_id, position FROM send WHERE tenant = ? AND owner = ? AND key = ?",
    );
    this.#conversation = db.rows<[string, string, string], [number, Uint8Array]>(
      "SELECT version, bytes FROM conversation WHERE tenant = ? AND owner = ? AND context_id = ?",
    );
    this.#interrupted = db.rows<[number, number, string, number], HeadRow>(
      `SELECT ${HEAD_COLUMNS} FROM head INDEXED BY head_interrupted WHERE state IN (6, 8) AND status_time < ? ` +
        "AND (status_time, task_id) > (?, ?) ORDER BY status_time, task_id LIMIT ?",
    );
    this.#leases = db.rows<[string, string, number], [string, number, number]>(
      "SELECT task_id, lease_turn, lease_attempt FROM head INDEXED BY head_leased WHERE lease_holder = ? AND task_id > ? " +
        "ORDER BY task_id LIMIT ?",
    );
    this.#due = db.values<[number], number>(
      "SELECT at FROM push_config INDEXED BY push_due WHERE state = 1 AND holder IS NULL AND at > ? ORDER BY at LIMIT 1",
    );
    this.#isHeld = db.values<[string], number>(
      "SELECT 1 FROM push_config INDEXED BY push_held WHERE holder > '' AND holder <> ? LIMIT 1",
    );
    this.#isHeldLate = db.values<[number], number>(
      "SELECT 1 FROM push_config INDEXED BY push_held WHERE holder IS NOT NULL AND at > ? LIMIT 1",
    );
    this.#dead = deadQuery(db);
    this.#deliveries = new DeliveryLists(db);
    this.#attempts = attemptsQuery(db);
    const config = "SELECT config_id, bytes, position FROM push_config WHERE task_id = ?";
    this.#config = db.rows<[string, string], ConfigRow>(`${config} AND config_id = ?`);
    this.#allConfigs = db.rows<[string, string, number], [string, string, Uint8Array]>(
      "SELECT task_id, config_id, bytes FROM push_config INDEXED BY push_config_by_id WHERE (task_id, config_id) > (?, ?) " +
        "ORDER BY task_id, config_id LIMIT ?",
    );
    this.#configs = db.rows<[string, string, number], ConfigRow>(
      `${config} AND config_id > ? ORDER BY config_id LIMIT ?`,
    );
  }

  head(taskId: string): TaskHead | undefined {
    return this.#query("head", () => {
      const row = this.#head.get(taskId);
      return row && toHead(row);
    });
  }

  heads(taskIds: readonly string[]): TaskHead[] {
    return this.#query("heads", () =>
      taskIds.flatMap((taskId) => {
        const row = this.#head.get(taskId);
        return row === undefined ? [] : [toHead(row)];
      }),
    );
  }

  load({ taskId, of }: LoadRequest): LoadedTask | undefined {
    return this.#atOnce("load", () => this.#load(taskId, READ_BYTES, of));
  }

  loadMany(taskIds: readonly string[]): (LoadedTask | undefined)[] {
    return this.#atOnce("load", () => {
      const loaded: (LoadedTask | undefined)[] = [];
      this.#bytes = 0;
      for (const taskId of taskIds) {
        loaded.push(this.#load(taskId, READ_BYTES));
        if (this.#bytes >= READ_BYTES) break;
      }
      return loaded;
    });
  }

  readSnapshot(taskId: string, position: number, piece: number): Uint8Array | undefined {
    return this.#query("readSnapshot", () => {
      const bytes = this.#piece.get(taskId, position, piece);
      return bytes && asUint8Array(bytes);
    });
  }

  read({ taskId, after, limit, salvage }: ReadRequest): Uint8Array[] {
    return this.#query("read", () =>
      this.#entries(taskId, after, { limit, maxBytes: READ_BYTES, from: salvage ? salvageEntries : readEntries }),
    );
  }

  list(request: ListRequest): ListPage {
    return this.#atOnce("list", () => {
      const { page, total } = this.#statements(request);
      return {
        heads: page.all(...pageValues(request)).map((row) => toListedHead(row, request)),
        total: total.get(...totalValues(request)) ?? 0,
      };
    });
  }

  countOpen({ tenant, owner }: { readonly owner: string; readonly tenant?: string | undefined }): number {
    if (tenant !== undefined) return this.#query("countOpen", () => this.#open.get(tenant, owner) ?? 0);
    return this.#atOnce("countOpen", () => (this.#open.get("", owner) ?? 0) + (this.#openElsewhere.get(owner) ?? 0));
  }

  listInterrupted({ before, after, limit }: InterruptedRequest): TaskHead[] {
    const { statusTime = Number.MIN_SAFE_INTEGER, taskId = "" } = after ?? {};
    return this.#query("listInterrupted", () => this.#interrupted.all(before, statusTime, taskId, limit).map(toHead));
  }

  findSend({ tenant, owner, key }: IdempotencyKey): IdempotencyRecord | undefined {
    return this.#query("findSend", () => {
      const row = this.#send.get(tenant, owner, key);
      return row && { fingerprint: row[0], taskId: row[1], position: row[2] };
    });
  }

  conversation({ tenant, owner, contextId }: ConversationKey): StoredConversation | undefined {
    return this.#query("conversation", () => {
      const row = this.#conversation.get(tenant, owner, contextId);
      return row && { version: row[0], bytes: asUint8Array(row[1]) };
    });
  }

  leasesOf({ holder, after, limit }: { holder: string; after: string; limit: number }): HeldLease[] {
    return this.#query("leasesOf", () =>
      this.#leases.all(holder, after, limit).map(([taskId, turn, attempt]) => ({ taskId, holder, turn, attempt })),
    );
  }

  getPushConfig({ taskId, configId }: PushConfigKey): StoredPushConfig | undefined {
    return this.#query("getPushConfig", () => {
      const row = this.#config.get(taskId, configId);
      return row && toConfig(row);
    });
  }

  listPushConfigs(taskId: string, after: string, limit: number): { configId: string; config: StoredPushConfig }[] {
    return this.#query("listPushConfigs", () =>
      this.#configs.all(taskId, after, limit).map((row) => ({ configId: row[0], config: toConfig(row) })),
    );
  }

  scanPushConfigs(request: {
    readonly after?: PushConfigKey;
    readonly limit: number;
  }): (PushConfigKey & { readonly bytes: Uint8Array })[] {
    const { taskId, configId } = request.after ?? { taskId: "", configId: "" };
    return this.#query("scanPushConfigs", () =>
      this.#allConfigs
        .all(taskId, configId, request.limit)
        .map((row) => ({ taskId: row[0], configId: row[1], bytes: asUint8Array(row[2]) })),
    );
  }

  nextDelivery(): number | undefined {
    return this.#query("nextDelivery", () => this.#due.get(Number.MIN_SAFE_INTEGER));
  }

  /** True if a delivery is due after a time, claimed or not. */
  hasDeliveryAfter(time: number): boolean {
    return this.#query(
      "rescheduleDeliveries",
      () => this.#due.get(time) !== undefined || this.#isHeldLate.get(time) !== undefined,
    );
  }

  /** True if a claim may find a delivery: due, or held by a process that may be gone. */
  mayClaimDeliveries({ now, holder, again }: ClaimDeliveries): boolean {
    return this.#query("claimDeliveries", () => {
      const next = this.#due.get(Number.MIN_SAFE_INTEGER);
      return again === true || (next !== undefined && next <= now) || this.#isHeld.get(holder) !== undefined;
    });
  }

  listDeadDeliveries(request: DeadDeliveryRequest): DeadDelivery[] {
    return this.#query("listDeadDeliveries", () => this.#dead.all(...deadValues(request)).map(toDead));
  }

  listDeliveries(request: ListDeliveries): DeliveryPage {
    return this.#query("listDeliveries", () => this.#deliveries.page(request));
  }

  listAttempts({ taskId, configId }: PushConfigKey): FailedAttempt[] {
    return this.#query("listAttempts", () => this.#attempts.all(taskId, configId).map(toAttempt));
  }

  /** Current schema version of the file. */
  version(): number {
    return this.#version.get() ?? 0;
  }

  /** Refuses every later call. */
  retire(): void {
    this.#retired = true;
  }

  close(): void {
    this.retire();
    this.#db.close();
  }

  #load(taskId: string, maxBytes: number, of?: TaskScope): LoadedTask | undefined {
    // SQLite compares the owner: a task of another owner costs no more to read than a missing one.
    const row = of === undefined ? this.#head.get(taskId) : this.#headOf.get(taskId, of.tenant, of.owner);
    if (row === undefined) return undefined;
    const snapshot = this.#loadSnapshot(taskId);
    const whole = snapshot?.pieces === undefined;
    const all = { limit: Number.POSITIVE_INFINITY, maxBytes, from: readEntries };
    const entries = whole ? this.#entries(taskId, snapshot?.position ?? 0, all) : [];
    return { head: toHead(row), snapshot, entries };
  }

  #loadSnapshot(taskId: string): StoredSnapshot | undefined {
    const row = this.#snapshot.get(taskId);
    if (row === undefined) return undefined;
    const [position, pieces] = row;
    const bytes = this.#piece.get(taskId, position, 0);
    // Pieces are deleted before their snapshot row: without the first piece the snapshot does not exist.
    if (bytes === undefined) return undefined;
    this.#bytes += bytes.length;
    return pieces === 1 ? { position, bytes: asUint8Array(bytes) } : { position, bytes: asUint8Array(bytes), pieces };
  }

  #entries(taskId: string, after: number, { limit, maxBytes, from }: EntriesPage): Uint8Array[] {
    const entries: Uint8Array[] = [];
    let bytes = 0;
    if (limit <= 0) return entries;
    for (const [last, count, blob] of this.#segments.iterate(taskId, after)) {
      const skip = Math.max(0, after - (last - count));
      from({ count, bytes: blob }, skip, limit, entries);
      bytes += blob.length;
      if (entries.length >= limit || bytes >= maxBytes) break;
    }
    this.#bytes += bytes;
    return entries;
  }

  #statements(request: ListRequest): ListStatements {
    const sql: ListSql = listSql(shapeOf(request));
    const known = this.#lists.get(sql.page);
    if (known !== undefined) return known;
    const statements = {
      page: this.#db.rows<(string | number)[], ListedRow>(sql.page),
      total: this.#db.values<(string | number)[], number>(sql.total),
    };
    this.#lists.set(sql.page, statements);
    return statements;
  }

  /** Runs several statements on one consistent view of the data. */
  #atOnce<T>(method: string, query: () => T): T {
    return this.#query(method, () => {
      this.#begin.run();
      try {
        return query();
      } finally {
        this.#end.run();
      }
    });
  }

  #query<T>(method: string, query: () => T): T {
    if (this.#retired) throw new StoreError("closed", "The store is closed.");
    try {
      return query();
    } catch (error) {
      throw toStoreError(error, `The store failed at ${method}`);
    }
  }
}

function toConfig([, bytes, position]: ConfigRow): StoredPushConfig {
  return { bytes: asUint8Array(bytes), position };
}

/** SQLite's driver returns Buffers, which compare and slice differently; callers get plain arrays. */
function asUint8Array(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
