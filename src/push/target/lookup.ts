import { promises as dns, type LookupAddress } from "node:dns";
import { bounded, Semaphore } from "../../core/async.js";
import { membersOf } from "../../core/members.js";
import type { TargetLookup } from "../options.js";

/** A host has no addresses, or none that could be found in time. */
export class LookupError extends Error {
  override name = "LookupError";
  /** Error code for programs, in the form of those of Node.js. */
  readonly code: "ENOTFOUND" | "EAI_AGAIN";

  constructor(code: "ENOTFOUND" | "EAI_AGAIN", message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Error codes for a missing name, or one without addresses. */
const absent: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA", "EAI_NONAME", "EAI_NODATA", "ENONAME"]);

const isAbsent = (error: unknown): boolean => absent.has(membersOf(error).code);

/**
 * Maximum number of concurrent look-ups. A system look-up takes a thread, with slow name servers for a long time.
 * Others wait within their timeout.
 */
const MAX_LOOKUPS = 64;

/** Timeout of resolving a receiver's host, in milliseconds: less than `pushConnect.timeoutMs`. */
export const pushLookup = { timeoutMs: 4_000 } as const;

/** Maximum number of waiting look-ups; further ones fail at once. */
const MAX_WAITING = 1_024;

const systemLookup: TargetLookup = (host) => dns.lookup(host, { all: true, verbatim: true });

/**
 * A look-up that asks only DNS servers, without `/etc/hosts` and other system sources. It takes no thread, so that slow
 * name servers block nothing else.
 *
 * @param resolver - the DNS resolver. Default: the system's servers, two attempts of two seconds each.
 */
export function dnsLookup(resolver: dns.Resolver = new dns.Resolver({ timeout: 2_000, tries: 2 })): TargetLookup {
  return async (host) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = (found: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] =>
      found.status === "rejected" ? [] : found.value.map((address) => ({ address, family }));
    const all = [...addresses(six, 6), ...addresses(four, 4)];
    // Addresses of one family suffice; without any, a failure of either may be temporary.
    const failed = [four, six].find((each) => each.status === "rejected" && !isAbsent(each.reason));
    if (all.length === 0 && failed?.status === "rejected") throw failed.reason;
    return all;
  };
}

/** Resolves names, each once at a time, with a timeout. */
export class Lookups {
  readonly #lookup: TargetLookup;
  /** True if the look-up is a user's function, which may never answer. */
  readonly #isOwn: boolean;
  readonly #pending = new Map<string, Promise<readonly LookupAddress[]>>();
  readonly #slots = new Semaphore(MAX_LOOKUPS);

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
    const isFull = this.#pending.size >= MAX_LOOKUPS + MAX_WAITING;
    if (isFull) throw new LookupError("EAI_AGAIN", "too many names are being looked up");
    const lookup = this.#inTurn(host).finally(() => this.#pending.delete(host));
    this.#pending.set(host, lookup);
    // Its callers may have timed out.
    lookup.catch(() => {});
    return lookup;
  }

  async #inTurn(host: string): Promise<readonly LookupAddress[]> {
    const end = performance.now() + pushLookup.timeoutMs;
    const turn = this.#slots.acquire(1);
    if (turn !== undefined) await turn;
    try {
      // Its callers have timed out.
      if (performance.now() >= end) throw this.#timeoutError();
      return await this.#ask(host);
    } finally {
      this.#slots.release(1);
    }
  }

  async #ask(host: string): Promise<readonly LookupAddress[]> {
    try {
      // A system look-up keeps its slot to its end, as it keeps its thread.
      const found = this.#lookup(host);
      return await (this.#isOwn ? this.#inTime(Promise.resolve(found)) : found);
    } catch (cause) {
      if (isAbsent(cause)) {
        throw new LookupError("ENOTFOUND", "the name does not resolve", cause);
      }
      throw new LookupError("EAI_AGAIN", "the name cannot be looked up at the moment", cause);
    }
  }

  #timeoutError(): LookupError {
    return new LookupError("EAI_AGAIN", `the name could not be looked up within ${pushLookup.timeoutMs} ms`);
  }

  #inTime<T>(work: Promise<T>): Promise<T> {
    return bounded(work, { timeout: { ms: pushLookup.timeoutMs, error: () => this.#timeoutError() } });
  }
}
