import type { Database, Statement } from "better-sqlite3";
import type { WriteRequest } from "./write.js";

/**
 * What a task has besides its log: the snapshot and the push configurations. Written only while the task is there,
 * so that what arrives after its removal does not stay behind for ever.
 */
export class Belongings {
  readonly #snapshot: Statement<[string, number, Uint8Array, string]>;
  readonly #putConfig: Statement<[string, string, number, Uint8Array, string]>;
  readonly #deleteConfig: Statement<[string, string]>;
  readonly #delivered: Statement<[number, string, string, number]>;

  constructor(db: Database) {
    const exists = "WHERE EXISTS (SELECT 1 FROM head WHERE task_id = ?)";
    this.#snapshot = db.prepare(
      `INSERT INTO snapshot (task_id, position, bytes) SELECT ?, ?, ? ${exists} ON CONFLICT DO UPDATE ` +
        "SET position = excluded.position, bytes = excluded.bytes WHERE excluded.position > position",
    );
    this.#putConfig = db.prepare(
      `INSERT INTO push_config (task_id, config_id, position, bytes) SELECT ?, ?, ?, ? ${exists} ` +
        "ON CONFLICT DO UPDATE SET position = excluded.position, bytes = excluded.bytes",
    );
    this.#deleteConfig = db.prepare("DELETE FROM push_config WHERE task_id = ? AND config_id = ?");
    this.#delivered = db.prepare(
      "UPDATE push_config SET position = ? WHERE task_id = ? AND config_id = ? AND position < ?",
    );
  }

  saveSnapshot({ taskId, snapshot }: WriteRequest<"saveSnapshot">): void {
    this.#snapshot.run(taskId, snapshot.position, snapshot.bytes, taskId);
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
