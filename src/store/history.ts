/**
 * Moves of a store to another server, which may lack the end of what the one before acknowledged. From the moment at
 * which the store notices a move, it refuses every write that may rest on what was read before, with `unavailable`,
 * until all listeners have read anew what they keep in memory.
 */
export interface StoreHistory {
  /** Number of moves so far. What was read before the last one may not be stored. */
  readonly moves: number;
  /**
   * Calls the listener at every move. Writes are accepted again when its promise resolves; one that rejects is called
   * again after a while. The returned function unsubscribes it.
   */
  onMove(listener: () => Promise<void>): () => void;
}
