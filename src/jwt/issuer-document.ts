import { type IssuerParts, issuerBounds, issuerJson, issuerUnavailable } from "./issuer.js";

/**
 * A document of an issuer that changes now and then: its keys, or its metadata. It is fetched when first needed and again when
 * it is old, in the background as long as it may still be used; at most one request is under way, and none for a while
 * after one that failed.
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
   * The document, at most `2 * issuerBounds.documentMs` old.
   *
   * @throws A2AError UNAVAILABLE where there is none to be had.
   */
  async get(): Promise<T> {
    const { documentMs } = issuerBounds;
    const age = this.#current === undefined ? Number.POSITIVE_INFINITY : performance.now() - this.#current.at;
    if (age >= documentMs) {
      const fetched = this.#fetch();
      // Old ones do for a while: calls do not wait for an issuer that is slow or down.
      if (age < 2 * documentMs) void fetched;
      else await fetched;
    }
    const { value, at } = this.#current ?? {};
    if (value === undefined || performance.now() - (at ?? 0) >= 2 * documentMs) {
      throw issuerUnavailable(this.#failure);
    }
    return value;
  }

  /** A newer document, for something that it does not have; the same one where the last request was a moment ago. */
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
    const { logger } = this.#parts;
    try {
      const value = await this.#read(await issuerJson(await this.#url()));
      this.#current = { value, at: performance.now() };
      if (this.#failure !== undefined) logger.info({}, "an issuer of tokens answers again");
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
      this.#triedAt = performance.now();
      logger.warn({ err: error }, "an issuer of tokens does not answer as it should");
    }
  }
}
