import { conversationRejection } from "../check.js";
import type { ConversationKey, ConversationWrite } from "../task-store.js";
import type { Database } from "./driver/driver.js";

const PLACE = "tenant = ? AND owner = ? AND context_id = ?";
const VERSION = `SELECT version FROM conversation WHERE ${PLACE}`;
const SAVE =
  "INSERT INTO conversation (tenant, owner, context_id, version, bytes) VALUES (?, ?, ?, ?, ?) " +
  "ON CONFLICT (tenant, owner, context_id) DO UPDATE SET version = excluded.version, bytes = excluded.bytes";
const REMOVE_ORPHAN =
  `DELETE FROM conversation WHERE ${PLACE} ` +
  `AND NOT EXISTS (SELECT 1 FROM head INDEXED BY head_by_context WHERE ${PLACE})`;

/** @throws StoreError `conversation-moved` if the state has another version than the write expects. */
export function checkConversation(
  db: Database,
  { tenant, owner, contextId }: ConversationKey,
  write: ConversationWrite,
): void {
  const rejection = conversationRejection(write, db.values<number>(VERSION).get(tenant, owner, contextId) ?? 0);
  if (rejection !== undefined) throw rejection;
}

export function saveConversation(
  db: Database,
  { tenant, owner, contextId }: ConversationKey,
  { version, bytes }: ConversationWrite,
): void {
  db.command(SAVE).run(tenant, owner, contextId, version, bytes);
}

/** Removes the state of a conversation whose last task was removed. */
export function removeOrphan(db: Database, { tenant, owner, contextId }: ConversationKey): void {
  db.command(REMOVE_ORPHAN).run(tenant, owner, contextId, tenant, owner, contextId);
}
