import { promises as dns, type LookupAddress } from "node:dns";
import type { TargetLookup } from "../options.js";

/** A host has no addresses, or none that could be found in time. */
export class LookupError extends Error {
  override name = "LookupError";
  /** For programs; of the same form as those of Node.js. */
  readonly code: "ENOTFOUND" | "EAI_AGAIN";

  constructor(code: "ENOTFOUND" | "EAI_AGAIN", message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** What DNS and the system say of a name that there is not, or that has no addresses. */
const absent: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA", "EAI_NONAME", "EAI_NODATA", "ENONAME"]);

const isAbsent = (error: unknown): boolean => absent.has((error as { code?: unknown } | undefined)?.code);

/**
 * Look-ups of the system take a thread each, and those of a name whose servers are slow take it for long: so many may be under way.
 * Others wait, as long as they have time.
 */
const MAX_LOOKUPS = 64;

/** Time for the look-up of the name of a receiver's host, in milliseconds: less than `pushConnect.timeoutMs`. */
export const pushLookup = { timeoutMs: 4_000 } as const;

/** So many names may wait; others fail at once. */
const MAX_WAITING = 1_024;

const systemLookup: TargetLookup = (host) => dns.lookup(host, { all: true, verbatim: true });

/**
 * A look-up that asks DNS servers, and neither `/etc/hosts` nor the other sources of the system. It takes no thread, so that names
 * whose servers are slow hold up nothing else.
 *
 * @param resolver - whom it asks. Default: the servers of the system, each twice and for two seconds.
 */
export function dnsLookup(resolver: dns.Resolver = new dns.Resolver({ timeout: 2_000, tries: 2 })): TargetLookup {
  return async (host) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = (found: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] =>
      found.status === "rejected" ? [] : found.value.map((address) => ({ address, family }));
    const all = [...addresses(six, 6), ...addresses(four, 4)];
    // Addresses of one family do, whatever became of the other; none at all may be a failure that passes.
    const failed = [four, six].find((each) => each.status === "rejected" && !isAbsent(each.reason));
    if (all.length === 0 && failed?.status === "rejected") throw failed.reason;
    return all;
  };
}

/** Looks names up, each once at a time, and waits for a bounded time. */
export class Lookups {
  readonly #lookup: TargetLookup;
  /** Whether the look-up is a function of the author, which may never answer. */
  readonly #isOwn: boolean;
  readonly #pending = new Map<string, Promise<readonly LookupAddress[]>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(lookup: TargetLookup | "dns" | undefined) {
    this.#lookup = lookup === "dns" ? dnsLookup() : (lookup ?? systemLookup);
    this.#isOwn = typeof lookup === "function";
  }

  /**
   * Every address of a name, at least one.
   *
   * @throws LookupError
   */
  async find(host: string): Promise<readonly LookupAddress[]> {
    const found = await this.#inTime(this.#pending.get(host) ?? this.#begin(host));
    if (found.length === 0) throw new LookupError("ENOTFOUND", "the name does not resolve");
    return found;
  }

  #begin(host: string): Promise<readonly LookupAddress[]> {
    if (this.#waiting.length >= MAX_WAITING) throw new LookupError("EAI_AGAIN", "too many names are being looked up");
    const lookup = this.#inTurn(host).finally(() => this.#pending.delete(host));
    this.#pending.set(host, lookup);
    // Whoever waits for it may have gone.
    lookup.catch(() => {});
    return lookup;
  }

  async #inTurn(host: string): Promise<readonly LookupAddress[]> {
    const end = performance.now() + pushLookup.timeoutMs;
    if (this.#running < MAX_LOOKUPS) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      // Nobody waits for it any more.
      if (performance.now() >= end) throw this.#late();
      return await this.#ask(host);
    } finally {
      // The next one has its place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  async #ask(host: string): Promise<readonly LookupAddress[]> {
    try {
      // Those of the system keep their place to their end, as they keep their thread.
      const found = this.#lookup(host);
      return await (this.#isOwn ? this.#inTime(Promise.resolve(found)) : found);
    } catch (cause) {
      if (isAbsent(cause)) {
        throw new LookupError("ENOTFOUND", "the name does not resolve", cause);
      }
      throw new LookupError("EAI_AGAIN", "the name cannot be looked up at the moment", cause);
    }
  }

  #late(): LookupError {
    return new LookupError("EAI_AGAIN", `the name could not be looked up within ${pushLookup.timeoutMs} ms`);
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.#late()), pushLookup.timeoutMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
