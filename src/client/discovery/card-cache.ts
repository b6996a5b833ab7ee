import { makeRoom } from "../../core/maps.js";
import { deltaSeconds } from "../errors/error-facts.js";

/** A card as it was received. */
export interface KeptCard {
  readonly text: string;
  /** What a conditional request names (RFC 9110, 13.1); undefined where the server gave none. */
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** Until then it is used without asking again, by `performance.now()`. */
  readonly freshUntil: number;
}

/**
 * In-memory cache of cards for several calls of `connect`. It holds what servers allow to be kept, and they are asked
 * whether it is still so when its time is over (RFC 9111, 4.2, 4.3; specification 8.6).
 */
export class CardCache {
  readonly #kept = new Map<string, KeptCard>();

  /** What was kept under a key, fresh or not. */
  get(key: string): KeptCard | undefined {
    return this.#kept.get(key);
  }

  /**
   * Keeps a card, as the newest.
   *
   * @param most cards that are kept; the oldest is forgotten for one more
   */
  keep(key: string, card: KeptCard, most: number): void {
    this.#kept.delete(key);
    makeRoom(this.#kept, most);
    this.#kept.set(key, card);
  }

  /** Forgets one card. */
  forget(key: string): void {
    this.#kept.delete(key);
  }

  /** Forgets all cards: the next `connect` fetches anew. */
  clear(): void {
    this.#kept.clear();
  }
}

/** What an answer allows: undefined where it must not be kept, else for how long it is fresh, in milliseconds. */
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
