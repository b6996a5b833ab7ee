/**
 * Moves of a store to another server, which may lack the last writes that the previous one acknowledged. Once the store
 * notices a move, it rejects every write that may depend on earlier reads with `unavailable`, until all listeners have
 * reloaded what they keep in memory.
 */
export interface StoreHistory {
  /** Number of moves so far. After a move, the store may lack entries that were read before. */
  readonly moves: number;
  /**
   * Calls the listener at every move. Writes are accepted again when its promise resolves. A listener that rejects is
   * called again later. The returned function unsubscribes it.
   */
  onMove(listener: () => Promise<void>): () => void;
}
