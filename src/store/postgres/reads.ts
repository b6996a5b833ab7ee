import { type HeadRow, toHead } from "../head-rows.js";
import type { Request } from "../request.js";
import { READ_BYTES, readEntries, salvageEntries } from "../segment.js";
import type { LoadedTask, TaskHead, TaskStore } from "../task-store.js";
import { texts } from "./array-writer.js";
import { type Database, first } from "./database.js";
import { HEAD_COLUMNS, lastSegment } from "./heads.js";

/** Segments that one `read` examines at most. */
const READ_SEGMENTS = 1_000;

/** Tasks that one `loadMany` reads. */
const LOADED_AT_ONCE = 32;

/** Maximum number of bytes that `loadMany` reads of one task. */
const LOADED_BYTES = 128 * 1024;

type SegmentRow = [last: number, count: number, bytes: Uint8Array];

/** Snapshot and segments of a task: last position, count and size of each segment, and the bytes of all. */
type LogColumns = [
  position: number | null,
  pieces: number | null,
  piece: Uint8Array | null,
  sizes: string | null,
  bytes: Uint8Array | null,
];
type LoadRow = [...LogColumns, ...head: HeadRow];

type ReadMethod = "head" | "heads" | "load" | "loadMany" | "read" | "readSnapshot" | "findSend" | "conversation";

/** Returns the methods of a store that read tasks by their ids, and what belongs to them. */
export function readsOn(database: Database): Pick<TaskStore, ReadMethod> {
  const sql = statementsIn(database.schema);
  const heads = async ({ taskIds }: Request<"heads">): Promise<TaskHead[]> => {
    return (await database.query<HeadRow>(sql.heads, [texts(taskIds)])).map(toHead);
  };
  return {
    heads,
    head: async ({ taskId }) => (await heads({ taskIds: [taskId] }))[0],

    async load({ taskId, of }) {
      const values = [texts([taskId]), of?.tenant ?? null, of?.owner ?? null, READ_BYTES];
      const row = await first(database.query<LoadRow>(sql.load, values));
      return row && loadedFrom(row);
    },

    async loadMany({ taskIds }) {
      const ids = taskIds.slice(0, LOADED_AT_ONCE);
      const rows = await database.query<LoadRow>(sql.load, [texts(ids), null, null, LOADED_BYTES]);
      const loaded = new Map(rows.map((row) => [row[5], loadedFrom(row)]));
      return ids.map((id) => loaded.get(id));
    },

    async read({ taskId, after, limit, salvage = false }) {
      if (limit <= 0) return [];
      const values = [taskId, after, Math.min(limit, READ_SEGMENTS), READ_BYTES];
      const entries: Uint8Array[] = [];
      for (const [last, count, bytes] of await database.query<SegmentRow>(sql.segments, values)) {
        const skip = Math.max(0, after - (last - count));
        (salvage ? salvageEntries : readEntries)({ count, bytes }, skip, limit, entries);
        if (entries.length >= limit) break;
      }
      return entries;
    },

    async readSnapshot({ taskId, position, piece }) {
      return (await first(database.query<[Uint8Array]>(sql.piece, [taskId, position, piece])))?.[0];
    },

    async findSend({ tenant, owner, key }) {
      const row = await first(database.query<[string, string, number]>(sql.send, [tenant, owner, key]));
      return row && { fingerprint: row[0], taskId: row[1], position: row[2] };
    },

    async conversation({ tenant, owner, contextId }) {
      const row = await first(database.query<[number, Uint8Array]>(sql.conversation, [tenant, owner, contextId]));
      return row && { version: row[0], bytes: row[1] };
    },
  };
}

/** Returns the statements for a schema. */
function statementsIn(s: string) {
  // The size of a value is read without the value.
  const page = (where: string, after: string, limit: string, bytes: string): string =>
    "SELECT w.last, w.count, w.bytes FROM (SELECT g.*, sum(octet_length(g.bytes)) OVER (ORDER BY g.last) " +
    `- octet_length(g.bytes) AS before FROM (SELECT last, count, bytes FROM ${s}.segment WHERE log = t.log ` +
    `AND last > ${after}${where} ORDER BY last LIMIT ${limit}) g) w WHERE w.before < ${bytes}`;
  // The segments of a task are one value, so that a task is one row.
  const loaded = page(" AND coalesce(n.pieces, 1) = 1", "coalesce(n.position, 0)", `${READ_SEGMENTS}`, "$4");
  return {
    heads: `SELECT ${HEAD_COLUMNS} FROM ${s}.task t ${lastSegment(s)} WHERE t.task_id = ANY ($1)`,
    segments:
      `SELECT p.* FROM ${s}.task t CROSS JOIN LATERAL (${page("", "$2", "$3", "$4")}) p ` +
      "WHERE t.task_id = $1 ORDER BY p.last",
    load:
      `SELECT n.position, n.pieces, n.bytes, e.sizes, e.bytes, ${HEAD_COLUMNS} FROM ${s}.task t ${lastSegment(s)} ` +
      `LEFT JOIN (SELECT k.log, k.position, k.pieces, p.bytes FROM ${s}.snapshot k JOIN ${s}.snapshot_piece p ` +
      "ON p.log = k.log AND p.position = k.position AND p.piece = 0) n ON n.log = t.log " +
      "CROSS JOIN LATERAL (SELECT string_agg(p.last || ' ' || p.count || ' ' || octet_length(p.bytes), ' ' " +
      `ORDER BY p.last) AS sizes, string_agg(p.bytes, '' ORDER BY p.last) AS bytes FROM (${loaded}) p) e ` +
      "WHERE t.task_id = ANY ($1) AND ($2::text IS NULL OR (t.tenant = $2 AND t.owner = $3))",
    piece:
      `SELECT p.bytes FROM ${s}.task t JOIN ${s}.snapshot_piece p ON p.log = t.log ` +
      "WHERE t.task_id = $1 AND p.position = $2 AND p.piece = $3",
    send: `SELECT fingerprint, task_id, position FROM ${s}.send WHERE tenant = $1 AND owner = $2 AND key = $3`,
    conversation: `SELECT version, bytes FROM ${s}.conversation WHERE tenant = $1 AND owner = $2 AND context_id = $3`,
  };
}

function loadedFrom([position, pieces, piece, sizes, bytes, ...head]: LoadRow): LoadedTask {
  const loaded = { head: toHead(head), entries: entriesOf(position ?? 0, sizes ?? "", bytes ?? new Uint8Array(0)) };
  if (position === null || pieces === null || piece === null) return { ...loaded, snapshot: undefined };
  return { ...loaded, snapshot: { position, bytes: piece, ...(pieces > 1 && { pieces }) } };
}

/** Reads the entries after a position. @param sizes last position, count and size of each segment */
function entriesOf(after: number, sizes: string, bytes: Uint8Array): Uint8Array[] {
  const entries: Uint8Array[] = [];
  const numbers = sizes === "" ? [] : sizes.split(" ").map(Number);
  let at = 0;
  for (let index = 0; index < numbers.length; index += 3) {
    const [last = 0, count = 0, size = 0] = numbers.slice(index, index + 3);
    const skip = Math.max(0, after - (last - count));
    readEntries({ count, bytes: bytes.subarray(at, at + size) }, skip, Number.POSITIVE_INFINITY, entries);
    at += size;
  }
  return entries;
}
