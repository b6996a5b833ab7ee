import type { Command, Database } from "./driver/driver.js";
import type { WriteRequest } from "./write.js";

/**
 * Writes push configurations, only of tasks that are there: one that arrives after the removal of its task would stay
 * for ever.
 */
export class PushConfigs {
  readonly #put: Command<[string, string, number, Uint8Array, string]>;
  readonly #delete: Command<[string, string]>;
  readonly #savePosition: Command<[number, string, string, number]>;

  constructor(db: Database) {
    this.#put = db.command(
      "INSERT INTO push_config (task_id, config_id, position, bytes) SELECT ?, ?, ?, ? " +
        "WHERE EXISTS (SELECT 1 FROM head WHERE task_id = ?) " +
        "ON CONFLICT DO UPDATE SET position = excluded.position, bytes = excluded.bytes",
    );
    this.#delete = db.command("DELETE FROM push_config WHERE task_id = ? AND config_id = ?");
    this.#savePosition = db.command(
      "UPDATE push_config SET position = ? WHERE task_id = ? AND config_id = ? AND position < ?",
    );
  }

  put({ taskId, configId, config }: WriteRequest<"putPushConfig">): void {
    this.#put.run(taskId, configId, config.position, config.bytes, taskId);
  }

  delete({ taskId, configId }: WriteRequest<"deletePushConfig">): void {
    this.#delete.run(taskId, configId);
  }

  savePosition({ taskId, configId, position }: WriteRequest<"savePushPosition">): void {
    this.#savePosition.run(position, taskId, configId, position);
  }
}
