import { background, boundedCall, type Cancellation, neverCanceled } from "../core/async.js";
import { A2AError, limitReached } from "../core/error.js";
import { sourceOf } from "../core/net.js";
import { type Throttle, tooManyFailed } from "./throttle.js";

/** Calls that may wait for each concurrent check of an address. */
const WAITING = 32;

/** Maximum number of idle addresses before a cleanup (core/maps.ts). */
const MAX_IDLE = 4_096;

/** Checks in progress of one address. */
interface Share {
  checks: number;
  /** Calls that wait for a slot, oldest first. */
  readonly waiting: Set<() => void>;
}

/** Time to identify a caller with any authenticator or scheme, in milliseconds: longer than two answers of an issuer. */
export const authentication = { timeoutMs: 15_000 } as const;

/** Credentials of one address that are checked at once; calls with the same token count once. */
export const unverified = { maxPerAddress: 32 } as const;

/**
 * Limits concurrent credential checks (by an issuer, a function or a thread) per address, for IPv6 per network of 64
 * bits. Further calls wait, since a whole office may share one address. So one address cannot exhaust the issuer or the
 * capacity of others, and its failures count before many more are checked. Calls without a known address are not
 * limited.
 */
export class ChecksUnderWay {
  readonly #throttle: Throttle;
  #shares = new Map<string, Share>();
  #most = MAX_IDLE;
  #full = 0;

  constructor(throttle: Throttle) {
    this.#throttle = throttle;
  }

  /** True if a further check of an address has to wait. */
  isFull(address: string): boolean {
    if (this.#full === 0) return false;
    const share = this.#shares.get(sourceOf(address));
    return share !== undefined && this.#isFull(share);
  }

  /** Counts a check until it ends, at most for `authentication.timeoutMs`. */
  count<T>(address: string, check: Promise<T>): Promise<T> {
    if (address === "") return check;
    const share = this.#share(sourceOf(address));
    this.#begin(share);
    this.#endWith(share, check);
    return check;
  }

  /**
   * Waits for a slot of the address, then begins the check.
   *
   * @param cancellation of the call; left out if other calls may share the check
   * @throws A2AError TOO_MANY_REQUESTS if too many checks wait or too many have failed, CANCELLED if the client leaves,
   * UNAVAILABLE if no slot becomes free within `authentication.timeoutMs`
   */
  async inTurn<T>(
    address: string,
    check: () => Promise<T> | T,
    cancellation: Cancellation = neverCanceled,
  ): Promise<T> {
    const share = this.#share(sourceOf(address));
    if (this.#isFull(share)) await this.#turn(share, cancellation);
    else this.#begin(share);
    const checked = (async () => {
      const retryAfterMs = this.#throttle.retryAfterMs(address);
      if (retryAfterMs !== undefined) throw tooManyFailed(retryAfterMs);
      return check();
    })();
    this.#endWith(share, checked);
    return checked;
  }

  #isFull(share: Share): boolean {
    return share.checks >= unverified.maxPerAddress;
  }

  /** Waits for a slot. When it resolves, the caller holds the slot. */
  #turn(share: Share, cancellation: Cancellation): Promise<void> {
    const { maxPerAddress } = unverified;
    if (share.waiting.size >= WAITING * maxPerAddress) {
      const message = `${maxPerAddress} credentials of this address are being checked, and others wait.`;
      throw limitReached("maxUnverifiedPerAddress", message);
    }
    const timeoutError = (): A2AError =>
      new A2AError("UNAVAILABLE", "The caller's credentials could not be checked in time.");
    const begin = (proceed: () => void): (() => void) => {
      share.waiting.add(proceed);
      return () => share.waiting.delete(proceed);
    };
    return boundedCall(begin, { cancellation, timeout: { ms: authentication.timeoutMs, error: timeoutError } });
  }

  #begin(share: Share): void {
    share.checks++;
    if (share.checks === unverified.maxPerAddress) this.#full++;
  }

  /** Passes the slot of a finished check to the next waiting call. */
  #endWith(share: Share, check: Promise<unknown>): void {
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      const [next] = share.waiting;
      if (next !== undefined) return next();
      if (share.checks === unverified.maxPerAddress) this.#full--;
      share.checks--;
    };
    const timer = background(setTimeout(end, authentication.timeoutMs));
    check.then(end, end);
  }

  #share(source: string): Share {
    const known = this.#shares.get(source);
    if (known !== undefined) return known;
    const share: Share = { checks: 0, waiting: new Set() };
    this.#shares.set(source, share);
    if (this.#shares.size > this.#most) {
      this.#shares = new Map([...this.#shares].filter(([, each]) => each === share || each.checks > 0));
      this.#most = this.#shares.size + MAX_IDLE;
    }
    return share;
  }
}
