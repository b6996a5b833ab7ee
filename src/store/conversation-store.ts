/** A conversation: a context of one owner in one tenant. */
export interface ConversationKey {
  readonly tenant: string;
  readonly owner: string;
  readonly contextId: string;
}

/** The stored state of a conversation. */
export interface StoredConversation {
  readonly version: number;
  readonly bytes: Uint8Array;
}

/** Replaces the state of a task's conversation, if its version is still the expected one. */
export interface ConversationWrite extends StoredConversation {
  /** The version that the caller knows; 0 if it knows of no state. */
  readonly expected: number;
  /**
   * The version of this state, above 0 and other than `expected`. The caller starts with a random number, so that a
   * state that is created after the removal of an earlier one is not mistaken for it.
   */
  readonly version: number;
}
