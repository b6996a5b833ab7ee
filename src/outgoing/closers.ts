import { evictOldest } from "../core/maps.js";

/**
 * Time after an answer within which a close suggests that the server closes all connections that early, in
 * milliseconds.
 */
const SOON_MS = 100;

/** Time for which such a server's connections are not reused, in milliseconds. */
const CAUTION_MS = 60_000;

/** Maximum number of such servers remembered; the oldest is evicted. */
const MAX_CLOSERS = 256;

/** Error codes of connections that the server closes without announcing it. */
const unannounced: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

/**
 * Servers that close connections soon after an answer without announcing it. A request written at that moment is lost,
 * and most must not be repeated (RFC 9112, 9.3.1), so each gets a new connection.
 */
export class Closers {
  /** Expiry by origin, by `performance.now()`; most recently seen last. */
  readonly #until = new Map<string, number>();

  /** Handles the end of a connection. @param unusedMs time since its last answer */
  closed(origin: string, error: unknown, unusedMs: number): void {
    if (unusedMs <= SOON_MS && unannounced.has((error as { code?: unknown }).code)) this.add(origin);
  }

  add(origin: string): void {
    this.#until.delete(origin);
    evictOldest(this.#until, MAX_CLOSERS);
    this.#until.set(origin, performance.now() + CAUTION_MS);
  }

  has(origin: string): boolean {
    const until = this.#until.get(origin);
    if (until === undefined) return false;
    if (performance.now() < until) return true;
    this.#until.delete(origin);
    return false;
  }
}
