import { decodeSnapshot, SNAPSHOT_PIECE_BYTES, snapshotPieces } from "../../task/snapshot.js";
import type { Database } from "./driver/driver.js";
import { MAX_INLINE_BYTES } from "./rows.js";

/** Limits of one part of the migration: rows scanned and bytes moved. */
const PART_ROWS = 4_096;
const PART_BYTES = 8 * 1024 * 1024;

/** Larger snapshots, in bytes, are dropped instead of moved, to bound memory. The log has the same data. */
const MAX_MOVED_SNAPSHOT = 64 * 1024 * 1024;

/** Runs the next part in the open transaction: returns the bytes that it processed, or undefined at the end. */
export type Part = () => number | undefined;

/** Moves segments and snapshots to the tables of schema version 4. Skips values already moved. */
export function moveLargeValues(db: Database): Part {
  const segments = moveSegments(db);
  const snapshots = moveSnapshots(db);
  return () => segments() ?? snapshots();
}

function moveSegments(db: Database): Part {
  const rows = db.rows<[string, number, number]>(
    "SELECT task_id, last, length(bytes) FROM segment WHERE (task_id, last) > (?, ?) ORDER BY task_id, last LIMIT ?",
  );
  const copy = db.command("INSERT INTO blob (bytes) SELECT bytes FROM segment WHERE task_id = ? AND last = ?");
  const point = db.command("UPDATE segment SET bytes = x'', blob = ? WHERE task_id = ? AND last = ?");
  let place: [taskId: string, last: number] = ["", 0];
  return () => {
    const found = rows.all(...place, PART_ROWS);
    if (found.length === 0) return undefined;
    let seen = 0;
    let moved = 0;
    for (const [taskId, last, size] of found) {
      if (size > MAX_INLINE_BYTES) {
        point.run(copy.run(taskId, last).lastInsertRowid, taskId, last);
        moved += size;
      }
      seen += size;
      place = [taskId, last];
      if (moved >= PART_BYTES) break;
    }
    return seen;
  };
}

type OldSnapshot = [taskId: string, position: number, size: number];

function moveSnapshots(db: Database): Part {
  const first = db.rows<OldSnapshot>(
    "SELECT task_id, position, length(bytes) FROM old_snapshot ORDER BY task_id LIMIT 1",
  );
  const read = db.values<Uint8Array>("SELECT bytes FROM old_snapshot WHERE task_id = ?");
  const drop = db.command("DELETE FROM old_snapshot WHERE task_id = ?");
  const announce = db.command("INSERT OR IGNORE INTO snapshot (task_id, position, pieces) VALUES (?, ?, ?)");
  const addPiece = pieceMover(db);
  /** A snapshot that takes several parts. */
  let kept: { readonly taskId: string; readonly pieces: Iterator<Uint8Array>; count: number } | undefined;
  return () => {
    let moved = 0;
    while (moved < PART_BYTES) {
      const old = first.get();
      if (old === undefined) return moved === 0 ? undefined : moved;
      const [taskId, position, size] = old;
      if (kept?.taskId !== taskId) {
        const bytes = size > MAX_MOVED_SNAPSHOT ? undefined : read.get(taskId);
        kept = { taskId, pieces: cut(bytes), count: 0 };
      }
      const piece = kept.pieces.next();
      if (!piece.done) {
        addPiece(taskId, position, kept.count++, piece.value);
        moved += piece.value.length;
        continue;
      }
      if (kept.count > 0) announce.run(taskId, position, kept.count);
      kept = undefined;
      drop.run(taskId);
      moved += 1;
    }
    return moved;
  };
}

/** The bytes of a snapshot as pieces; none if it is too large or unreadable: the log has the same data. */
function cut(bytes: Uint8Array | undefined): Iterator<Uint8Array> {
  if (bytes === undefined) return [][Symbol.iterator]();
  if (bytes.length <= SNAPSHOT_PIECE_BYTES) return [bytes][Symbol.iterator]();
  try {
    return snapshotPieces(decodeSnapshot(bytes));
  } catch {
    return [][Symbol.iterator]();
  }
}

/** Adds a piece unless it exists: a killed process, or another one on the same file, may have moved it. */
function pieceMover(db: Database): (taskId: string, position: number, piece: number, bytes: Uint8Array) => void {
  const known = db.rows<[number]>("SELECT 1 FROM snapshot_piece WHERE task_id = ? AND position = ? AND piece = ?");
  const keep = db.command("INSERT INTO blob (bytes) VALUES (?)");
  const add = db.command("INSERT INTO snapshot_piece (task_id, position, piece, blob) VALUES (?, ?, ?, ?)");
  return (taskId, position, piece, bytes) => {
    if (known.get(taskId, position, piece) !== undefined) return;
    add.run(taskId, position, piece, keep.run(bytes).lastInsertRowid);
  };
}
