import * as crypto from "node:crypto";
import type { CallerInput } from "../core/caller.js";
import type { Limits } from "../core/limits.js";
import { makeRoom } from "../core/make-room.js";

interface Remembered {
  readonly caller: CallerInput;
  /** On the clock that nobody sets. */
  readonly forgetAt: number;
  /** The token's own end, in milliseconds of the day's clock. */
  readonly endsAt: number;
}

/**
 * Callers of tokens that were verified, for a bounded time and a bounded number of them, by a digest of the token: the
 * tokens themselves are not kept. Nothing is remembered beyond a token's own end.
 */
export class TokenMemory {
  readonly #limits: Limits;
  readonly #callers = new Map<string, Remembered>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get(token: string): CallerInput | undefined {
    if (this.#callers.size === 0) return undefined;
    const key = digest(token);
    const found = this.#callers.get(key);
    if (found === undefined) return undefined;
    if (performance.now() < found.forgetAt && Date.now() < found.endsAt) return found.caller;
    this.#callers.delete(key);
    return undefined;
  }

  /** @param endsAt the token's end, in seconds since 1970. */
  set(token: string, caller: CallerInput, endsAt: number): void {
    const { credentialMemoryMs, maxRememberedCredentials } = this.#limits;
    const key = digest(token);
    this.#callers.delete(key);
    makeRoom(this.#callers, maxRememberedCredentials);
    this.#callers.set(key, { caller, forgetAt: performance.now() + credentialMemoryMs, endsAt: endsAt * 1000 });
  }
}

/** In one go where the runtime can, which takes half the time. */
const digest: (token: string) => string =
  typeof crypto.hash === "function"
    ? (token) => crypto.hash("sha256", token, "base64")
    : (token) => crypto.createHash("sha256").update(token).digest("base64");
