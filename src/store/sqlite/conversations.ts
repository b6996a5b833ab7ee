import { conversationRejection } from "../check.js";
import type { ConversationKey, ConversationWrite } from "../task-store.js";
import type { Command, Database, Query } from "./driver/driver.js";

/** Writes the states of conversations. */
export class Conversations {
  readonly #version: Query<[string, string, string], number>;
  readonly #save: Command<[string, string, string, number, Uint8Array]>;
  readonly #removeOrphan: Command<[string, string, string, string, string, string]>;

  constructor(db: Database) {
    const place = "tenant = ? AND owner = ? AND context_id = ?";
    this.#version = db.values(`SELECT version FROM conversation WHERE ${place}`);
    this.#save = db.command(
      "INSERT INTO conversation (tenant, owner, context_id, version, bytes) VALUES (?, ?, ?, ?, ?) " +
        "ON CONFLICT (tenant, owner, context_id) DO UPDATE SET version = excluded.version, bytes = excluded.bytes",
    );
    this.#removeOrphan = db.command(
      `DELETE FROM conversation WHERE ${place} ` +
        `AND NOT EXISTS (SELECT 1 FROM head INDEXED BY head_by_context WHERE ${place})`,
    );
  }

  /** @throws StoreError `conversation-moved` if the state has another version than the write expects. */
  check({ tenant, owner, contextId }: ConversationKey, write: ConversationWrite): void {
    const rejection = conversationRejection(write, this.#version.get(tenant, owner, contextId) ?? 0);
    if (rejection !== undefined) throw rejection;
  }

  save({ tenant, owner, contextId }: ConversationKey, { version, bytes }: ConversationWrite): void {
    this.#save.run(tenant, owner, contextId, version, bytes);
  }

  /** Removes the state of a conversation whose last task was removed. */
  taskRemoved({ tenant, owner, contextId }: ConversationKey): void {
    this.#removeOrphan.run(tenant, owner, contextId, tenant, owner, contextId);
  }
}
