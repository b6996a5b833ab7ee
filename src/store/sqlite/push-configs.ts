import { StoreError } from "../task-store.js";
import type { Command, Database } from "./driver/driver.js";
import type { WriteRequest, WriteResult } from "./write.js";

/**
 * Writes push configurations, only of tasks that are there: one that arrives after the removal of its task would stay
 * for ever.
 */
export class PushConfigs {
  readonly #put: Command<[string, Uint8Array, string]>;
  readonly #delete: Command<[string, string]>;

  constructor(db: Database) {
    this.#put = db.command(
      "INSERT INTO push_config (task_id, config_id, position, bytes) SELECT task_id, ?, position, ? " +
        "FROM head WHERE task_id = ? ON CONFLICT DO UPDATE SET bytes = excluded.bytes",
    );
    this.#delete = db.command("DELETE FROM push_config WHERE task_id = ? AND config_id = ?");
  }

  put({ taskId, configId, bytes }: WriteRequest<"putPushConfig">): WriteResult<"putPushConfig"> {
    return this.#put.run(configId, bytes, taskId).changes > 0 ? "put" : "no-task";
  }

  delete({ taskId, configId }: WriteRequest<"deletePushConfig">): void {
    this.#delete.run(taskId, configId);
  }
}

/** What this store cannot do yet. */
export async function missing(): Promise<never> {
  throw new StoreError("failed", "This store does not deliver push notifications yet.");
}
