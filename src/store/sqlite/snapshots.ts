import type { Command, Database, Query } from "./driver/driver.js";
import type { WriteRequest } from "./write.js";

/** Each saved piece of a new snapshot deletes this many pieces of the previous one, which may be large. */
const DROPPED_AT_ONCE = 2;

/** Writes snapshots, only of existing tasks: one saved after the removal of its task would never be deleted. */
export class Snapshots {
  readonly #known: Query<[string], number | null>;
  readonly #blob: Command<[Uint8Array]>;
  readonly #piece: Query<[string, number, number], number>;
  readonly #addPiece: Command<[string, number, number, number | bigint]>;
  readonly #announce: Command<[string, number, number]>;
  readonly #old: Query<[string, number, number], [position: number, piece: number, blob: number]>;
  readonly #dropBlob: Command<[number]>;
  readonly #dropPiece: Command<[string, number, number]>;

  constructor(db: Database) {
    this.#known = db.values<[string], number | null>(
      "SELECT s.position FROM head h LEFT JOIN snapshot s ON s.task_id = h.task_id WHERE h.task_id = ?",
    );
    this.#blob = db.command("INSERT INTO blob (bytes) VALUES (?)");
    this.#piece = db.values<[string, number, number], number>(
      "SELECT blob FROM snapshot_piece WHERE task_id = ? AND position = ? AND piece = ?",
    );
    this.#addPiece = db.command(
      "INSERT INTO snapshot_piece (task_id, position, piece, blob) VALUES (?, ?, ?, ?) " +
        "ON CONFLICT DO UPDATE SET blob = excluded.blob",
    );
    this.#announce = db.command(
      "INSERT INTO snapshot (task_id, position, pieces) VALUES (?, ?, ?) ON CONFLICT DO UPDATE " +
        "SET position = excluded.position, pieces = excluded.pieces",
    );
    this.#old = db.rows<[string, number, number], [number, number, number]>(
      "SELECT position, piece, blob FROM snapshot_piece WHERE task_id = ? AND position < ? LIMIT ?",
    );
    this.#dropBlob = db.command("DELETE FROM blob WHERE id = ?");
    this.#dropPiece = db.command("DELETE FROM snapshot_piece WHERE task_id = ? AND position = ? AND piece = ?");
  }

  /** The previous snapshot stays valid until the last piece is stored, also after a crash between two pieces. */
  save({ taskId, snapshot }: WriteRequest<"saveSnapshot">): void {
    const { position, bytes, piece = 0, last = true } = snapshot;
    const known = this.#known.get(taskId);
    if (known === undefined || (known !== null && known >= position)) return;
    const there = this.#piece.get(taskId, position, piece);
    if (there !== undefined) this.#dropBlob.run(there);
    this.#addPiece.run(taskId, position, piece, this.#blob.run(bytes).lastInsertRowid);
    if (last) this.#announce.run(taskId, position, piece + 1);
    for (const old of this.#old.all(taskId, (last ? position : known) ?? 0, DROPPED_AT_ONCE)) {
      this.#dropPiece.run(taskId, old[0], old[1]);
      this.#dropBlob.run(old[2]);
    }
  }
}
