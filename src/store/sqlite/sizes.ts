/**
 * The largest value stored in its row, in bytes. A row of a table without rowid may take a quarter of a page, about
 * 1,000 bytes, before SQLite moves the rest to overflow pages and has to fetch it for each key comparison.
 */
export const MAX_INLINE_BYTES = 900;

/** Threshold of bulk writes, in bytes: their commits take longer, so small writes do not wait for them. */
export const BULK_BYTES: number = 128 * 1024;
