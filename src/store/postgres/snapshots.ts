import type { TaskStore } from "../task-store.js";
import { type Database, first, GUARDED } from "./database.js";

/**
 * Saves a snapshot, only of an existing task: one saved after the removal of its task would never be deleted. The
 * previous snapshot stays valid until the last piece is stored, also after a crash between two pieces.
 */
export function saveSnapshot(
  db: Database,
  { taskId, snapshot }: Parameters<TaskStore["saveSnapshot"]>[0],
): Promise<void> {
  const { position, piece = 0, last = true } = snapshot;
  const bytes = new Uint8Array(snapshot.bytes);
  const s = db.schema;
  return db.transaction(async (on) => {
    // The shared lock keeps the task until the piece is stored, and lets appends of artifacts pass.
    const known = await first(
      on.query<[number, number | null]>(
        `SELECT t.log, n.position FROM ${s}.task t LEFT JOIN ${s}.snapshot n ON n.log = t.log WHERE t.task_id = $1 ` +
          "FOR KEY SHARE OF t",
        [taskId],
      ),
    );
    if (known === undefined || (known[1] !== null && known[1] >= position)) return;
    const [log, before] = known;
    await on.query(
      `INSERT INTO ${s}.snapshot_piece AS p (log, position, piece, bytes) VALUES ($1, $2, $3, $4) ` +
        "ON CONFLICT (log, position, piece) DO UPDATE SET bytes = excluded.bytes",
      [log, position, piece, bytes],
    );
    if (last) {
      await on.query(
        `INSERT INTO ${s}.snapshot AS n (log, position, pieces) VALUES ($1, $2, $3) ON CONFLICT (log) DO UPDATE ` +
          "SET position = excluded.position, pieces = excluded.pieces WHERE n.position < excluded.position",
        [log, position, piece + 1],
      );
    }
    const old = `DELETE FROM ${s}.snapshot_piece WHERE log = $1 AND position < $2`;
    await on.query(old, [log, last ? position : (before ?? 0)]);
  }, GUARDED);
}
