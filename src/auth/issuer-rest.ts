import { evictOldest } from "../core/maps.js";
import { issuerBounds } from "../jwt/issuer.js";
import { fingerprint } from "./known-secrets.js";
import { failedAttempts } from "./throttle.js";

/** Unanswered tokens of one address before the address is paused. */
const TOKENS_OF_SOURCE = 3;

/** Unanswered addresses in a row before the issuer counts as down. */
const SOURCES = 4;

/** Attempts per cool-down at an issuer that is down: for known addresses, and for all others. */
const TRIES = 10;

/** Maximum number of paused tokens that are remembered. */
const MAX_TOKENS = 1_000;

/** Error codes of failed connections. No token can cause one. */
const unreachable: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

interface IssuerFailures {
  /** Unanswered tokens since the last active one. */
  failures: number;
  restsUntil: number;
}

/**
 * Decides when an issuer may be asked about a token after failures. A failed request (status 500, a broken connection)
 * may be the fault of the issuer or be provoked by a token, which anyone can send: so it pauses that token, then that
 * address, and no others. Only a failed connection, or failures of several addresses in a row, mean that the issuer is
 * down. It is then tried a few times per cool-down, with a separate quota for addresses that had an active token, which
 * others cannot use up; the first answer ends it.
 */
export class IssuerRest {
  /** End of each token's pause, by the token's fingerprint. */
  readonly #tokens = new Map<string, number>();
  readonly #sources = new Map<string, IssuerFailures>();
  /** Addresses that had an active token, the latest last. */
  readonly #known = new Map<string, true>();
  /** Addresses whose requests failed since the last answer, at most `SOURCES`. */
  readonly #failing = new Set<string>();
  #unreachableUntil = Number.NEGATIVE_INFINITY;
  #nextTry = { known: 0, other: 0 };

  /** True if all recent requests were answered. */
  get isOver(): boolean {
    return this.#failing.size === 0;
  }

  /**
   * Returns the delay before the issuer may be asked about a token, in milliseconds; undefined if it may be asked now.
   * The caller has to ask then, because an attempt was taken from the quota.
   *
   * @param source the client's address, as `sourceOf` groups addresses
   */
  waitMs(token: string, source: string): number | undefined {
    const now = performance.now();
    if (now < this.#unreachableUntil) return this.#unreachableUntil - now;
    const until = Math.max(this.#untilOf(token), this.#sources.get(source)?.restsUntil ?? 0);
    if (now < until) return until - now;
    if (this.#failing.size < SOURCES) return undefined;
    const whose = this.#known.has(source) ? "known" : "other";
    if (now < this.#nextTry[whose]) return this.#nextTry[whose] - now;
    this.#nextTry[whose] = now + issuerBounds.cooldownMs / TRIES;
    return undefined;
  }

  /** Records an answer of the issuer. */
  answered(source: string, isActive: boolean): void {
    this.#failing.clear();
    if (!isActive) return;
    this.#sources.delete(source);
    this.#known.delete(source);
    evictOldest(this.#known, failedAttempts.maxAddresses);
    this.#known.set(source, true);
  }

  /** Records a request that failed. */
  failed(token: string, source: string, error: unknown): void {
    const until = performance.now() + issuerBounds.cooldownMs;
    if (isUnreachable(error)) {
      this.#unreachableUntil = until;
      return;
    }
    evictOldest(this.#tokens, MAX_TOKENS);
    this.#tokens.set(fingerprint(token), until);
    const failures = (this.#sources.get(source)?.failures ?? 0) + 1;
    this.#sources.delete(source);
    evictOldest(this.#sources, failedAttempts.maxAddresses);
    this.#sources.set(source, { failures, restsUntil: failures < TOKENS_OF_SOURCE ? 0 : until });
    this.#known.delete(source);
    if (this.#failing.size < SOURCES) this.#failing.add(source);
  }

  #untilOf(token: string): number {
    return this.#tokens.size === 0 ? 0 : (this.#tokens.get(fingerprint(token)) ?? 0);
  }
}

function isUnreachable(error: unknown): boolean {
  return unreachable.has((error as { cause?: { code?: unknown } } | undefined)?.cause?.code);
}
