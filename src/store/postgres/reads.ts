import { isOf } from "../check.js";
import { type HeadRow, toHead } from "../head-rows.js";
import { readEntries, salvageEntries } from "../segment.js";
import type {
  ConversationKey,
  IdempotencyKey,
  IdempotencyRecord,
  LoadedTask,
  LoadRequest,
  ReadRequest,
  StoredConversation,
  TaskHead,
} from "../task-store.js";
import { texts } from "./arrays.js";
import { type Database, first, type Statements } from "./database.js";
import { HEAD_COLUMNS, lastSegment } from "./heads.js";

/** One `read` stops after this many bytes, but returns at least one entry: a page of a log, not all of it. */
const READ_BYTES = 1024 * 1024;

/** Segments that one `read` examines at most. */
const READ_SEGMENTS = 1_000;

/** Tasks that one `loadMany` reads. */
const LOADED_AT_ONCE = 32;

type LoggedRow = [log: number, ...head: HeadRow];
type SegmentRow = [last: number, count: number, bytes: Uint8Array];
type SnapshotRow = [position: number, pieces: number, bytes: Uint8Array];

/** Reads of tasks. */
export class Reads {
  readonly #database: Database;
  readonly #head: string;
  readonly #heads: string;
  readonly #log: string;
  readonly #segments: string;
  readonly #snapshot: string;
  readonly #piece: string;
  readonly #send: string;
  readonly #conversation: string;

  constructor(database: Database, s: string) {
    this.#database = database;
    this.#head = `SELECT t.log, ${HEAD_COLUMNS} FROM ${s}.task t ${lastSegment(s)} WHERE t.task_id = $1`;
    this.#heads = `SELECT ${HEAD_COLUMNS} FROM ${s}.task t ${lastSegment(s)} WHERE t.task_id = ANY ($1)`;
    this.#log = `SELECT t.log FROM ${s}.task t WHERE t.task_id = $1`;
    // The size of a value is read without the value.
    this.#segments =
      "SELECT w.last, w.count, w.bytes FROM (SELECT g.*, sum(octet_length(g.bytes)) OVER (ORDER BY g.last) " +
      `- octet_length(g.bytes) AS before FROM (SELECT last, count, bytes FROM ${s}.segment WHERE log = $1 AND last > $2 ` +
      "ORDER BY last LIMIT $3) g) w WHERE w.before < $4 ORDER BY w.last";
    this.#snapshot =
      `SELECT n.position, n.pieces, p.bytes FROM ${s}.snapshot n JOIN ${s}.snapshot_piece p ` +
      "ON p.log = n.log AND p.position = n.position AND p.piece = 0 WHERE n.log = $1";
    this.#piece =
      `SELECT p.bytes FROM ${s}.task t JOIN ${s}.snapshot_piece p ON p.log = t.log ` +
      "WHERE t.task_id = $1 AND p.position = $2 AND p.piece = $3";
    this.#send = `SELECT fingerprint, task_id, position FROM ${s}.send WHERE tenant = $1 AND owner = $2 AND key = $3`;
    this.#conversation = `SELECT version, bytes FROM ${s}.conversation WHERE tenant = $1 AND owner = $2 AND context_id = $3`;
  }

  async head(taskId: string): Promise<TaskHead | undefined> {
    return (await this.heads([taskId]))[0];
  }

  async heads(taskIds: readonly string[]): Promise<TaskHead[]> {
    return (await this.#database.query<HeadRow>(this.#heads, [texts(taskIds)])).map(toHead);
  }

  async load(request: LoadRequest): Promise<LoadedTask | undefined> {
    return this.#atOnce((on) => this.#load(on, request, READ_BYTES));
  }

  async loadMany(taskIds: readonly string[]): Promise<(LoadedTask | undefined)[]> {
    return this.#atOnce(async (on) => {
      const loaded: (LoadedTask | undefined)[] = [];
      let bytes = 0;
      for (const taskId of taskIds.slice(0, LOADED_AT_ONCE)) {
        const task = await this.#load(on, { taskId }, READ_BYTES);
        loaded.push(task);
        bytes += task?.snapshot?.bytes.length ?? 0;
        bytes += task?.entries.reduce((sum, { length }) => sum + length, 0) ?? 0;
        if (bytes >= READ_BYTES) break;
      }
      return loaded;
    });
  }

  async read({ taskId, after, limit, salvage = false }: ReadRequest): Promise<Uint8Array[]> {
    if (limit <= 0) return [];
    const row = await first(this.#database.query<[number]>(this.#log, [taskId]));
    return row === undefined ? [] : this.#entries(this.#database, row[0], { after, limit, salvage, bytes: READ_BYTES });
  }

  async readSnapshot(taskId: string, position: number, piece: number): Promise<Uint8Array | undefined> {
    const row = await first(this.#database.query<[Uint8Array]>(this.#piece, [taskId, position, piece]));
    return row?.[0];
  }

  async findSend({ tenant, owner, key }: IdempotencyKey): Promise<IdempotencyRecord | undefined> {
    const row = await first(this.#database.query<[string, string, number]>(this.#send, [tenant, owner, key]));
    return row && { fingerprint: row[0], taskId: row[1], position: row[2] };
  }

  async conversation({ tenant, owner, contextId }: ConversationKey): Promise<StoredConversation | undefined> {
    const values = [tenant, owner, contextId];
    const row = await first(this.#database.query<[number, Uint8Array]>(this.#conversation, values));
    return row && { version: row[0], bytes: row[1] };
  }

  async #load(on: Statements, { taskId, of }: LoadRequest, bytes: number): Promise<LoadedTask | undefined> {
    const row = await first(on.query<LoggedRow>(this.#head, [taskId]));
    if (row === undefined) return undefined;
    const [log, ...columns] = row;
    const head = toHead(columns);
    if (of !== undefined && !isOf(head, of)) return undefined;
    const stored = await first(on.query<SnapshotRow>(this.#snapshot, [log]));
    if (stored === undefined) {
      const entries = await this.#entries(on, log, { after: 0, limit: Number.POSITIVE_INFINITY, bytes });
      return { head, snapshot: undefined, entries };
    }
    const [position, pieces, piece] = stored;
    if (pieces > 1) return { head, snapshot: { position, bytes: piece, pieces }, entries: [] };
    const entries = await this.#entries(on, log, { after: position, limit: Number.POSITIVE_INFINITY, bytes });
    return { head, snapshot: { position, bytes: piece }, entries };
  }

  async #entries(
    on: Statements,
    log: number,
    page: { readonly after: number; readonly limit: number; readonly bytes: number; readonly salvage?: boolean },
  ): Promise<Uint8Array[]> {
    const { after, limit, bytes, salvage = false } = page;
    const entries: Uint8Array[] = [];
    const values = [log, after, Math.min(limit, READ_SEGMENTS), bytes];
    for (const [last, count, segment] of await on.query<SegmentRow>(this.#segments, values)) {
      const skip = Math.max(0, after - (last - count));
      (salvage ? salvageEntries : readEntries)({ count, bytes: segment }, skip, limit, entries);
      if (entries.length >= limit) break;
    }
    return entries;
  }

  /** Runs several reads on one moment. */
  #atOnce<T>(read: (on: Statements) => Promise<T>): Promise<T> {
    return this.#database.snapshot(read);
  }
}
