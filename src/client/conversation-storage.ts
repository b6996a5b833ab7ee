/** Storage of a conversation over reloads: `sessionStorage`, `localStorage`, or a similar object. */
export interface ConversationStorage {
  /** Returns the text that is kept under a name, or null. */
  getItem(key: string): string | null;
  /** Keeps a text. May throw where there is no room. */
  setItem(key: string, value: string): void;
  /** Forgets it. */
  removeItem(key: string): void;
}
