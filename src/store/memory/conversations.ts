import { conversationRejection } from "../check.js";
import type { ConversationKey, ConversationWrite, StoredConversation } from "../task-store.js";
import { ownerKey } from "./list.js";

/** The states of conversations. Bytes are copied on the way in and out. */
export class Conversations {
  readonly #states = new Map<string, StoredConversation>();

  get(key: ConversationKey): StoredConversation | undefined {
    const state = this.#states.get(keyOf(key));
    return state && copy(state);
  }

  /** Bytes of a state, 0 without one. */
  sizeOf(key: ConversationKey): number {
    return this.#states.get(keyOf(key))?.bytes.length ?? 0;
  }

  /** @throws StoreError `conversation-moved` if the state has another version than the write expects. */
  check(key: ConversationKey, write: ConversationWrite): void {
    const rejection = conversationRejection(write, this.#states.get(keyOf(key))?.version ?? 0);
    if (rejection !== undefined) throw rejection;
  }

  save(key: ConversationKey, write: ConversationWrite): void {
    this.#states.set(keyOf(key), copy(write));
  }

  delete(key: ConversationKey): void {
    this.#states.delete(keyOf(key));
  }
}

function keyOf(key: ConversationKey): string {
  return `${key.contextId.length}:${key.contextId}${ownerKey(key)}`;
}

function copy({ version, bytes }: StoredConversation): StoredConversation {
  return { version, bytes: new Uint8Array(bytes) };
}
