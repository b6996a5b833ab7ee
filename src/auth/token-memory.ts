import type { CallerInput } from "../core/caller.js";
import type { Limits } from "../core/limits.js";
import { makeRoom } from "../core/maps.js";

/** So many characters at the end of credentials find them: of a signature, more than anybody can guess. */
const TAIL = 64;

/** Verified tokens that are remembered for each scheme; the oldest are evicted first. */
export const rememberedTokens = { max: 10_000 } as const;

interface Remembered {
  readonly credentials: string;
  readonly caller: CallerInput;
  /** On the clock that nobody sets. */
  readonly forgetAt: number;
  /** The token's own end, in milliseconds of the day's clock. */
  readonly endsAt: number;
}

/**
 * Callers of credentials that were verified, for a bounded time and a bounded number of them, by the text that was sent. Nothing is
 * remembered beyond a token's own end.
 *
 * They are found by the text itself, by its end, since a digest would take longer than everything else that such a call needs. The time of
 * a look-up tells nothing that helps to guess one: only texts with the same end are compared, and who knows the last 64 characters
 * of a signature has it. The texts are in memory alone, as those of the requests that bring them, in a field that nothing prints.
 */
export class TokenMemory {
  readonly #limits: Limits;
  /** Of several with the same end, which no signatures have, the last one. */
  readonly #callers = new Map<string, Remembered>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get(credentials: string): CallerInput | undefined {
    const tail = credentials.slice(-TAIL);
    const found = this.#callers.get(tail);
    if (found === undefined || found.credentials !== credentials) return undefined;
    if (performance.now() < found.forgetAt && Date.now() < found.endsAt) return found.caller;
    this.#callers.delete(tail);
    return undefined;
  }

  /** @param endsAt the token's end, in seconds since 1970. */
  set(credentials: string, caller: CallerInput, endsAt: number): void {
    const { credentialMemoryMs } = this.#limits;
    const tail = credentials.slice(-TAIL);
    const forgetAt = performance.now() + credentialMemoryMs;
    this.#callers.delete(tail);
    makeRoom(this.#callers, rememberedTokens.max);
    this.#callers.set(tail, { credentials, caller, forgetAt, endsAt: endsAt * 1000 });
  }
}
