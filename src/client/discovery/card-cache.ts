import { evictOldest } from "../../core/maps.js";
import { deltaSeconds } from "../errors/error-facts.js";

/** A card as received. */
export interface KeptCard {
  readonly text: string;
  /** Validator of a conditional request (RFC 9110, 13.1); undefined if the server sent none. */
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** Used without revalidation until then, by `performance.now()`. */
  readonly freshUntil: number;
}

/**
 * In-memory cache of cards for several calls of `connect`. It stores cards whose servers allow it, and revalidates them
 * when they are stale (RFC 9111, 4.2, 4.3; specification 8.6).
 */
export class CardCache {
  readonly #kept = new Map<string, KeptCard>();

  /** Returns the card of a key, fresh or stale. */
  get(key: string): KeptCard | undefined {
    return this.#kept.get(key);
  }

  /**
   * Stores a card as the newest.
   *
   * @param most maximum number of cards; the oldest is evicted
   */
  keep(key: string, card: KeptCard, most: number): void {
    this.#kept.delete(key);
    evictOldest(this.#kept, most);
    this.#kept.set(key, card);
  }

  /** Removes one card. */
  forget(key: string): void {
    this.#kept.delete(key);
  }

  /** Removes all cards: the next `connect` fetches again. */
  clear(): void {
    this.#kept.clear();
  }
}

/** Returns the freshness of an answer, in milliseconds, or undefined if it must not be stored. */
export function freshForMs(headers: Headers, mostMs: number): number | undefined {
  const directives = directivesOf(headers.get("cache-control") ?? "");
  if (directives.has("no-store")) return undefined;
  const maxAge = deltaSeconds(directives.get("max-age"));
  if (directives.has("no-cache") || maxAge === undefined) return 0;
  const age = deltaSeconds(headers.get("age")) ?? 0;
  return Math.min(mostMs, Math.max(0, maxAge - age) * 1000);
}

function directivesOf(value: string): Map<string, string> {
  const pairs = value.split(",", 32).map((directive) => {
    const [name = "", argument = ""] = directive.split("=", 2);
    return [name.trim().toLowerCase(), argument.trim().replace(/^"(.*)"$/, "$1")] as const;
  });
  return new Map(pairs);
}
