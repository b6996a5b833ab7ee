import type { Database } from "./driver/driver.js";
import { addBlob } from "./rows.js";
import type { WriteRequest } from "./write.js";

/** Each saved piece of a new snapshot deletes this many pieces of the previous one, which may be large. */
const DROPPED_AT_ONCE = 2;

/**
 * Writes a snapshot, only of an existing task: one saved after the removal of its task would never be deleted. The
 * previous snapshot stays valid until the last piece is stored, also after a crash between two pieces.
 */
export function saveSnapshot(db: Database, { taskId, snapshot }: WriteRequest<"saveSnapshot">): void {
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
