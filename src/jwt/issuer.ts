import { A2AError } from "../core/error.js";
import type { Logger } from "../core/log.js";
import { isLoopback, parseUrl } from "../core/net.js";

/** Bounds of requests to an issuer of tokens, for keys, metadata and introspection. */
export const issuerBounds = {
  /** Time for an answer, in milliseconds. */
  timeoutMs: 5_000,
  /** Size of an answer in bytes: 256 KiB. */
  bytes: 262_144,
  /** Minimum time between requests after a failure or for an unknown key, in milliseconds. */
  cooldownMs: 10_000,
  /** Age at which a document is fetched again, in milliseconds. It is used for at most twice as long if that fails. */
  documentMs: 600_000,
} as const;

/** An issuer answered with a status that is not 200. */
export class IssuerStatus extends Error {
  readonly status: number;

  constructor(url: string, status: number) {
    super(`${url} answered with the status ${status}`);
    this.status = status;
  }
}

/** Requests JSON from a token issuer, within `issuerBounds`. Redirects are not followed. */
export async function issuerJson(url: string, init: RequestInit = {}, send: typeof fetch = fetch): Promise<unknown> {
  const signal = AbortSignal.timeout(issuerBounds.timeoutMs);
  const headers = { accept: "application/json", ...init.headers };
  const response = await send(url, { ...init, headers, redirect: "manual", signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new IssuerStatus(url, response.status);
  }
  return JSON.parse(await boundedText(response, url));
}

async function boundedText(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || value === undefined) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > issuerBounds.bytes) {
      await reader?.cancel();
      throw new Error(`${url} answered with more than ${issuerBounds.bytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** The error for a call whose credentials cannot be checked because the issuer does not answer properly. */
export function issuerUnavailable(cause: unknown, retryAfterMs: number = issuerBounds.cooldownMs): A2AError {
  return new A2AError("UNAVAILABLE", "The credentials cannot be checked at the moment.", { retryAfterMs, cause });
}

/** Returns the faults of an issuer's URL, which has to be https, except on this machine. */
export function issuerUrlFaults(name: string, url: unknown): string[] {
  const parsed = typeof url === "string" ? parseUrl(url) : undefined;
  if (parsed === undefined) return [`${name} is not an absolute URL`];
  const { protocol, username, password, href } = parsed;
  if (username !== "" || password !== "") return [`${name} has credentials in it`];
  return protocol === "https:" || (protocol === "http:" && isLoopback(href)) ? [] : [`${name} is not https`];
}

/** Dependencies of fetching an issuer's documents. */
export interface IssuerParts {
  /** Sends the requests. Default: that of the runtime. */
  readonly fetch?: typeof fetch | undefined;
  readonly logger: Pick<Logger, "info" | "warn">;
}

/**
 * A cached document of an issuer: its keys or its metadata. It is fetched on first use and again after
 * `issuerBounds.documentMs`, in the background as long as the old one may be used. At most one request runs at a time,
 * and requests are at least `issuerBounds.cooldownMs` apart.
 */
export class IssuerDocument<T> {
  readonly #url: () => string | Promise<string>;
  readonly #read: (json: unknown) => T | Promise<T>;
  readonly #parts: IssuerParts;
  #current: { readonly value: T; readonly at: number } | undefined;
  #pending: Promise<void> | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #failure: unknown;

  constructor(url: () => string | Promise<string>, read: (json: unknown) => T | Promise<T>, parts: IssuerParts) {
    this.#url = url;
    this.#read = read;
    this.#parts = parts;
  }

  /**
   * Returns the document, at most `2 * issuerBounds.documentMs` old.
   *
   * @throws A2AError UNAVAILABLE if it cannot be fetched.
   */
  async get(): Promise<T> {
    const { documentMs } = issuerBounds;
    const age = this.#current === undefined ? Number.POSITIVE_INFINITY : performance.now() - this.#current.at;
    if (age >= documentMs) {
      const fetched = this.#fetch();
      // The old document is still usable, so calls do not wait for a slow issuer.
      if (age < 2 * documentMs) void fetched;
      else await fetched;
    }
    const { value, at } = this.#current ?? {};
    if (value === undefined || performance.now() - (at ?? 0) >= 2 * documentMs) {
      throw issuerUnavailable(this.#failure);
    }
    return value;
  }

  /** Fetches the document again, because a key is missing in it. Returns the same one during the cool-down. */
  async renewed(): Promise<T> {
    await this.#fetch();
    return this.get();
  }

  /** Never rejects. */
  #fetch(): Promise<void> {
    if (this.#pending !== undefined) return this.#pending;
    if (performance.now() - this.#triedAt < issuerBounds.cooldownMs) return Promise.resolve();
    this.#triedAt = performance.now();
    this.#pending = this.#ask().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #ask(): Promise<void> {
    const { logger, fetch } = this.#parts;
    try {
      const value = await this.#read(await issuerJson(await this.#url(), {}, fetch));
      this.#current = { value, at: performance.now() };
      if (this.#failure !== undefined) logger.info({}, "an issuer of tokens answers again");
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
      this.#triedAt = performance.now();
      logger.warn({ err: error }, "an issuer of tokens does not answer correctly");
    }
  }
}
