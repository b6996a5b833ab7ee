import type { Command, Database, Query } from "./driver/driver.js";
import type { WriteRequest } from "./write.js";

/** With each piece of a new snapshot so many pieces of the one before the last go: it may be large. */
const DROPPED_AT_ONCE = 2;

/**
 * What a task has besides its log: the snapshot and the push configurations. Written only while the task is there,
 * so that what arrives after its removal does not stay behind for ever.
 */
export class Belongings {
  readonly #known: Query<[string], number | null>;
  readonly #blob: Command<[Uint8Array]>;
  readonly #piece: Query<[string, number, number], number>;
  readonly #addPiece: Command<[string, number, number, number | bigint]>;
  readonly #announce: Command<[string, number, number]>;
  readonly #old: Query<[string, number, number], [position: number, piece: number, blob: number]>;
  readonly #dropBlob: Command<[number]>;
  readonly #dropPiece: Command<[string, number, number]>;
  readonly #putConfig: Command<[string, string, number, Uint8Array, string]>;
  readonly #deleteConfig: Command<[string, string]>;
  readonly #delivered: Command<[number, string, string, number]>;

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
    this.#putConfig = db.command(
      "INSERT INTO push_config (task_id, config_id, position, bytes) SELECT ?, ?, ?, ? " +
        "WHERE EXISTS (SELECT 1 FROM head WHERE task_id = ?) " +
        "ON CONFLICT DO UPDATE SET position = excluded.position, bytes = excluded.bytes",
    );
    this.#deleteConfig = db.command("DELETE FROM push_config WHERE task_id = ? AND config_id = ?");
    this.#delivered = db.command(
      "UPDATE push_config SET position = ? WHERE task_id = ? AND config_id = ? AND position < ?",
    );
  }

  /** The snapshot before stays valid until the last piece is there; a crash between two pieces leaves it. */
  saveSnapshot({ taskId, snapshot }: WriteRequest<"saveSnapshot">): void {
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

  putPushConfig({ taskId, configId, config }: WriteRequest<"putPushConfig">): void {
    this.#putConfig.run(taskId, configId, config.position, config.bytes, taskId);
  }

  deletePushConfig({ taskId, configId }: WriteRequest<"deletePushConfig">): void {
    this.#deleteConfig.run(taskId, configId);
  }

  savePushPosition({ taskId, configId, position }: WriteRequest<"savePushPosition">): void {
    this.#delivered.run(position, taskId, configId, position);
  }
}
