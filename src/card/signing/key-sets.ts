import type { JWK } from "jose";
import { Gathered } from "../../core/bytes.js";
import { membersOf } from "../../core/members.js";
import { isLoopback, parseUrl } from "../../core/net.js";
import { CardKeyError, readKeySet } from "./trusted-keys.js";

/** JWKS that may be fetched, and the limits of a fetch. */
interface KeySetTrust {
  readonly jku?: readonly string[];
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly fetch?: typeof fetch;
}

/** The JWKS that signatures may name, each fetched once. */
export class KeySets {
  readonly #allowed: ReadonlySet<string>;
  readonly #options: FetchTextOptions;
  readonly #fetched = new Map<string, Promise<readonly JWK[] | string>>();

  /** @throws CardKeyError for a URL that must not be trusted. */
  constructor({ jku = [], timeoutMs = 10_000, maxBytes = 1024 * 1024, fetch: ask }: KeySetTrust) {
    for (const url of jku) {
      const fault = jkuFault(url);
      if (fault !== undefined) throw new CardKeyError(`The jku ${url} ${fault}.`);
    }
    this.#allowed = new Set(jku.map((url) => new URL(url).href));
    this.#options = { timeoutMs, maxBytes, fetch: ask };
  }

  /**
   * Returns the keys at a URL, undefined if the URL is not allowed, or half a sentence with the reason of a failed
   * fetch.
   */
  async get(url: string): Promise<readonly JWK[] | string | undefined> {
    const href = parseUrl(url)?.href;
    if (href === undefined || !this.#allowed.has(href)) return undefined;
    const known = this.#fetched.get(href) ?? this.#fetch(href);
    this.#fetched.set(href, known);
    return known;
  }

  async #fetch(href: string): Promise<readonly JWK[] | string> {
    try {
      return readKeySet(await fetchText(href, this.#options));
    } catch (error) {
      if (error instanceof FetchTextError || error instanceof CardKeyError) {
        return `the keys of its jku are not to be had: ${error.message.replace(/\.$/, "")}`;
      }
      throw error;
    }
  }
}

/** Returns the reason to reject the URL of a JWKS, as half a sentence, or undefined (RFC 7515, 4.1.2, requires TLS). */
export function jkuFault(url: unknown): string | undefined {
  const parsed = typeof url === "string" ? parseUrl(url) : undefined;
  if (parsed === undefined) return "is not an absolute URL";
  const { protocol, username, password, hash } = parsed;
  if (username !== "" || password !== "") return "has credentials in it";
  if (hash !== "") return "has a fragment";
  return protocol === "https:" || (protocol === "http:" && isLoopback(parsed.href)) ? undefined : "is not an https URL";
}

/** A failed fetch. The message is a sentence with the reason. */
export class FetchTextError extends Error {
  override name = "FetchTextError";
}

/** Options of a fetch. */
interface FetchTextOptions {
  /** Timeout of the whole fetch, in milliseconds. */
  readonly timeoutMs: number;
  /** Maximum size of the text, in bytes. */
  readonly maxBytes: number;
  readonly fetch?: typeof fetch | undefined;
}

/**
 * Fetches a text from a URL. Redirects are not followed, so that only the trusted host is asked.
 *
 * @throws FetchTextError
 */
export async function fetchText(url: string, options: FetchTextOptions): Promise<string> {
  const { timeoutMs, maxBytes, fetch: ask = fetch } = options;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await ask(url, { redirect: "manual", signal, headers: { accept: "application/json, */*;q=0.5" } });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      const where = answer.headers.get("location");
      throw new FetchTextError(
        `${url} answers with status ${answer.status}${where === null ? "" : `, which leads to ${where}`}.`,
      );
    }
    return await readBodyText(answer, url, maxBytes);
  } catch (cause) {
    if (cause instanceof FetchTextError) throw cause;
    if (signal.aborted) throw new FetchTextError(`${url} did not answer within ${timeoutMs} ms.`, { cause });
    const { message, cause: inner } = membersOf(cause);
    const why = inner instanceof Error && inner.message !== "" ? inner.message : message;
    throw new FetchTextError(`${url} cannot be fetched (${why}).`, { cause });
  }
}

async function readBodyText(answer: Response, url: string, maxBytes: number): Promise<string> {
  const reader = answer.body?.getReader();
  const gathered = new Gathered();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    if (gathered.size + value.byteLength > maxBytes) {
      await reader?.cancel();
      throw new FetchTextError(`${url} answers with more than ${maxBytes} bytes.`);
    }
    gathered.push(value);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(gathered.bytes);
  } catch {
    throw new FetchTextError(`${url} answers with text that is not UTF-8.`);
  }
}
