import { background } from "../core/async.js";
import { nextRound } from "../core/event-loop.js";
import type { EnginePushes } from "../engine/pushes.js";
import type { ClaimedDelivery, TaskStore } from "../store/task-store.js";
import type { Hosts } from "./host.js";
import type { LifeWatch } from "./life-watch.js";
import type { ForwardClock } from "./timing.js";

/** What comes due one after the other is taken together, so many milliseconds apart at least. */
const LEAST_WAIT_MS = 20;

/** The same while what is due is due of hosts that have no room for it, which say themselves when they have. */
const BUSY_WAIT_MS = 100;

/** After trouble with the store it is tried again after this time, in milliseconds. */
export const TROUBLE_MS = 1_000;

/** What a claimer is made of. */
export interface ClaimerOptions {
  readonly store: TaskStore;
  readonly pushes: EnginePushes;
  readonly clock: ForwardClock;
  readonly hosts: Pick<Hosts<unknown>, "rooms" | "get">;
  readonly life: LifeWatch;
  /** How often is looked for what no news came of, in milliseconds. */
  readonly pollMs: number;
  /** How many more may be claimed. */
  readonly places: () => number;
  /** Gets what was claimed, and `LifeWatch.epoch` when it was. */
  readonly take: (claimed: ClaimedDelivery, epoch: number) => void;
  readonly noteTrouble: (error: unknown) => void;
}

/** Claims what is due, as far as there is room for it: when there are news, when the next one is due, and now and then. */
export class Claimer {
  readonly #options: ClaimerOptions;
  #looking = false;
  #lookAgain = false;
  /** Whether to claim without a look at what is due before: there are news, or another process may be gone. */
  #mustClaim = false;
  #isCrowded = false;
  /** Whether a claim may have been made of which nothing was heard. */
  #unheard = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #isOver = false;

  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  /** Whether more may be due than there were places for. */
  get isCrowded(): boolean {
    return this.#isCrowded;
  }

  /** Looks for what is due. */
  wake(): void {
    if (this.#looking) this.#lookAgain = true;
    else if (!this.#isOver) void this.#look();
  }

  /** The same where something is due for certain. */
  claimNow(): void {
    this.#mustClaim = true;
    this.wake();
  }

  /** Looks at a time, if not before. */
  lookAt(time: number | undefined): void {
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
        // What a process holds that is gone is due to nobody before it is claimed.
        this.#mustClaim ||= store.shared;
        this.wake();
      }, ms),
    );
  }

  /** Claims nothing more. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    this.#looking = true;
    let next: number | undefined;
    try {
      do {
        this.#lookAgain = false;
        next = await this.#claimDue();
      } while (this.#lookAgain && !this.#isOver);
    } catch (error) {
      this.#options.noteTrouble(error);
      next = this.#options.clock.now() + TROUBLE_MS;
    } finally {
      this.#looking = false;
    }
    this.lookAt(next);
  }

  /** @returns when something is due the next time, where that is known */
  async #claimDue(): Promise<number | undefined> {
    const { store, pushes, clock, life, places } = this.#options;
    for (let isDone = false; !this.#isOver; ) {
      const limit = places();
      this.#isCrowded = limit <= 0;
      // Whoever ends then looks again.
      if (this.#isCrowded) return undefined;
      // Others may take over what a process has whose signs of life do not arrive: it would keep from them what it must not send.
      if (!life.isSure) return clock.now() + pushes.leaseMs / 4;
      // An idle server claims news at once; otherwise it asks first whether there is something, which costs no write.
      const isSure = this.#mustClaim;
      this.#mustClaim = false;
      if (!isSure) {
        const next = await store.nextDelivery();
        const now = clock.now();
        if (next === undefined || next > now) return next;
        if (isDone) return now + BUSY_WAIT_MS;
      }
      isDone = await this.#claim(limit);
      // Whatever is claimed and put back, others have their turn.
      await nextRound();
    }
    return undefined;
  }

  /** @returns whether that was all for which there is room */
  async #claim(limit: number): Promise<boolean> {
    const { store, pushes, clock, hosts, life, take } = this.#options;
    const { holder, leaseMs } = pushes;
    const { epoch } = life;
    const room = hosts.rooms();
    const again = this.#unheard;
    this.#unheard = true;
    const request = { holder, leaseMs, now: clock.now(), limit, room };
    const claimed = await store.claimDeliveries(again ? { ...request, again } : request);
    this.#unheard = false;
    const left = new Map(room.of);
    for (const one of claimed) {
      const free = left.get(one.target);
      if (free !== undefined) left.set(one.target, free - 1);
      take(one, epoch);
    }
    for (const [key, free] of left) if (free <= 0) hosts.get(key, performance.now()).hasMore = true;
    return claimed.length < Math.min(limit, room.others);
  }
}
