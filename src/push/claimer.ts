import { background } from "../core/async.js";
import { yieldToEventLoop } from "../core/event-loop.js";
import type { ClaimedDelivery } from "../store/task-store.js";
import type { DueClock } from "./clock.js";
import type { DeliveryParts } from "./delivery.js";
import type { Hosts } from "./host-limiter.js";

/**
 * Minimum interval between claims, in milliseconds, so that deliveries that become due in sequence are claimed
 * together.
 */
const LEAST_WAIT_MS = 20;

/** Minimum interval while all due deliveries belong to hosts without free slots, which trigger a claim themselves. */
const BUSY_WAIT_MS = 100;

/** Delay before retrying after an error of the store, in milliseconds. */
export const TROUBLE_MS = 1_000;

interface ClaimerOptions extends Pick<DeliveryParts, "store" | "pushes" | "leaseGuard" | "noteTrouble"> {
  readonly clock: DueClock;
  readonly hosts: Pick<Hosts<unknown>, "capacities" | "get">;
  /** Interval of polling, in milliseconds, for deliveries without a notification. */
  readonly pollMs: number;
  /** Number of free slots. */
  readonly places: () => number;
  /** Receives each claimed delivery, with `LeaseGuard.epoch` as of the claim. */
  readonly take: (claimed: ClaimedDelivery, epoch: number) => void;
}

/** Claims due deliveries while slots are free: on notification, when the next one is due, and by polling. */
export class Claimer {
  readonly #options: ClaimerOptions;
  #isClaiming = false;
  #claimAgain = false;
  /** True to claim without reading first: a delivery is due for certain, or another process may be gone. */
  #mustClaim = false;
  #isCrowded = false;
  /** True if the response to a claim was lost. */
  #isClaimUnanswered = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #isOver = false;
  #rounds: Promise<void> = Promise.resolve();

  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  /** True if more may be due than there were slots. */
  get isCrowded(): boolean {
    return this.#isCrowded;
  }

  /** Resolves when no claim is in flight. */
  get ended(): Promise<void> {
    return this.#rounds;
  }

  /** Polls for due deliveries. */
  wake(): void {
    if (this.#isClaiming) this.#claimAgain = true;
    else if (!this.#isOver) this.#rounds = this.#claimUntilIdle();
  }

  /** Claims without reading first. */
  claimNow(): void {
    this.#mustClaim = true;
    this.wake();
  }

  /** Polls at a time, unless a poll is due earlier. */
  claimAt(time: number | undefined): void {
    if (this.#isOver) return;
    const { clock, pollMs, store } = this.#options;
    const now = clock.now();
    const ms = Math.max(LEAST_WAIT_MS, Math.min(pollMs, (time ?? Number.POSITIVE_INFINITY) - now));
    if (this.#timerAt <= now + ms && this.#timerAt > now) return;
    clearTimeout(this.#timer);
    this.#timerAt = now + ms;
    this.#timer = background(
      setTimeout(() => {
        this.#timerAt = Number.POSITIVE_INFINITY;
        // Deliveries held by a process that is gone are not due until claimed.
        this.#mustClaim ||= store.shared;
        this.wake();
      }, ms),
    );
  }

  /** Stops claiming. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #claimUntilIdle(): Promise<void> {
    this.#isClaiming = true;
    let next: number | undefined;
    try {
      do {
        this.#claimAgain = false;
        next = await this.#claimDue();
      } while (this.#claimAgain && !this.#isOver);
    } catch (error) {
      this.#options.noteTrouble(error);
      next = this.#options.clock.now() + TROUBLE_MS;
    } finally {
      this.#isClaiming = false;
    }
    this.claimAt(next);
  }

  /** @returns the time of the next due delivery, if known */
  async #claimDue(): Promise<number | undefined> {
    const { store, pushes, clock, leaseGuard, places } = this.#options;
    for (let isDone = false; !this.#isOver; ) {
      const limit = places();
      this.#isCrowded = limit <= 0;
      // The end of a delivery triggers the next poll.
      if (this.#isCrowded) return undefined;
      // Other processes may evict a process whose heartbeats do not arrive: its claims would only delay deliveries that
      // it must not send.
      if (!leaseGuard.isSure) return clock.now() + pushes.leaseMs / 4;
      // An idle server claims at once on notification; otherwise a read first finds out if anything is due, which saves
      // a write.
      const isSure = this.#mustClaim;
      this.#mustClaim = false;
      if (!isSure) {
        const next = await store.nextDelivery();
        const now = clock.now();
        if (this.#isOver || next === undefined || next > now) return next;
        if (isDone) return now + BUSY_WAIT_MS;
      }
      isDone = await this.#claim(limit);
      // Lets other work run, however many deliveries are claimed and postponed.
      await yieldToEventLoop();
    }
    return undefined;
  }

  /** @returns true if that filled all free slots */
  async #claim(limit: number): Promise<boolean> {
    const { store, pushes, clock, hosts, leaseGuard, take } = this.#options;
    const { holder, leaseMs } = pushes;
    const { epoch } = leaseGuard;
    const capacity = hosts.capacities();
    const again = this.#isClaimUnanswered;
    this.#isClaimUnanswered = true;
    const request = { holder, leaseMs, now: clock.now(), limit, capacity };
    const moves = store.history?.moves;
    const claimed = await store.claimDeliveries(again ? { ...request, again } : request);
    if (store.history?.moves !== moves) {
      // The new server may lack these claims, or their events: the next claim gets those that it has.
      this.#mustClaim = true;
      return false;
    }
    this.#isClaimUnanswered = false;
    const left = new Map(capacity.of);
    for (const one of claimed) {
      const free = left.get(one.target);
      if (free !== undefined) left.set(one.target, free - 1);
      take(one, epoch);
    }
    for (const [key, free] of left) if (free <= 0) hosts.get(key, performance.now()).hasMore = true;
    return claimed.length < Math.min(limit, capacity.others);
  }
}
