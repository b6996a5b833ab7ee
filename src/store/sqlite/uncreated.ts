import type { Database } from "./driver/driver.js";
import type { Part } from "./large-values.js";

/** Tasks that one part scans. */
const PART_TASKS = 1_024;

/** Bytes to read of a task's first entry: its kind is encoded near its beginning. */
const PREFIX_BYTES = 4_096;

/** Fields of an entry (parley.log.v1.LogEntry) that tell its kind: creation, and the others. */
const CREATED = 5;
const FOLLOWING: ReadonlySet<number> = new Set([6, 7, 8]);

/**
 * Removes tasks whose log does not begin with their creation. An earlier version could leave some after concurrent
 * sends under one key. No client ever learned of them, and they cannot be read.
 */
export function removeUncreated(db: Database): Part {
  const tasks = db.rows<[taskId: string, tenant: string, owner: string, state: number]>(
    "SELECT task_id, tenant, owner, state FROM head WHERE task_id > ? ORDER BY task_id LIMIT ?",
  );
  const first = db.values<Uint8Array>(
    `SELECT substr(coalesce(b.bytes, s.bytes), 1, ${PREFIX_BYTES}) FROM segment s LEFT JOIN blob b ON b.id = s.blob ` +
      "WHERE s.task_id = ? ORDER BY s.last LIMIT 1",
  );
  const removals = [
    "DELETE FROM blob WHERE id IN (SELECT blob FROM segment WHERE task_id = ? AND blob IS NOT NULL)",
    "DELETE FROM blob WHERE id IN (SELECT blob FROM snapshot_piece WHERE task_id = ?)",
    ...["segment", "snapshot_piece", "snapshot", "send", "push_config", "head"].map(
      (table) => `DELETE FROM ${table} WHERE task_id = ?`,
    ),
  ].map((sql) => db.command(sql));
  const count = db.command("UPDATE counter SET tasks = tasks - 1 WHERE tenant = ? AND owner = ? AND state = ?");
  let last = "";
  return () => {
    const found = tasks.all(last, PART_TASKS);
    if (found.length === 0) return undefined;
    let bytes = 0;
    for (const [taskId, ...place] of found) {
      const segment = first.get(taskId);
      bytes += segment?.length ?? 0;
      last = taskId;
      if (segment === undefined || !lacksCreation(segment)) continue;
      for (const removal of removals) removal.run(taskId);
      count.run(...place);
    }
    return bytes;
  };
}

/** True if a segment certainly begins with an entry that does not create a task. Doubtful ones are kept. */
export function lacksCreation(segment: Uint8Array): boolean {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = segment[at++];
      if (byte === undefined) return Number.NaN;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  const end = varint() + at;
  // Every entry begins with its position, which is 1 here.
  if (varint() !== 8 || varint() !== 1) return false;
  while (at < end) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    if (tag % 8 === 2) {
      const size = varint();
      if (field === CREATED) return false;
      if (FOLLOWING.has(field)) return at + size <= end;
      at += size;
    } else if (tag % 8 !== 0 || Number.isNaN(varint())) return false;
  }
  return false;
}
