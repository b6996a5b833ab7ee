import { silentAudit } from "../core/audit.js";
import { background } from "../core/background.js";
import { nextRound } from "../core/rounds.js";
import { within } from "../core/within.js";
import { isOutage, logTrouble } from "../engine/outage.js";
import type { ClaimedDelivery, DeliveryOutcome, PushConfigKey } from "../store/task-store.js";
import { Delivery, type DeliveryParts, type Ending } from "./delivery.js";
import type { DispatcherOptions, PushStatus } from "./dispatcher-options.js";
import { createEventFilter } from "./event-filter.js";
import { ForwardClock } from "./forward-clock.js";
import type { Admission, Host } from "./host.js";
import { Hosts } from "./hosts.js";
import { LifeWatch } from "./life-watch.js";
import { failed, type Judgement, outcomeOf, putOff, UNREADABLE_MS } from "./outcome.js";
import { OutgoingBytes } from "./outgoing-bytes.js";
import { Pauses } from "./pauses.js";
import { MissingKeyError } from "./secrets.js";
import { Settlements } from "./settlements.js";
import { Trials } from "./trials.js";

/** How often is looked for what no news came of, in milliseconds: on a store that others share, and on one's own. */
const SHARED_POLL_MS = 1_000;
const POLL_MS = 30_000;

/** What comes due one after the other is taken together, so many milliseconds apart at least. */
const LEAST_WAIT_MS = 20;

/** After trouble with the store it is tried again after this time, in milliseconds. */
const TROUBLE_MS = 1_000;

/**
 * How long a receiver may take when no place, or no room for bytes, is left for others, in milliseconds: hosts that took what came, and
 * then stall all together, keep nothing from others for longer.
 */
const CROWDED_MS = 2_000;

/** How long what was cut off may take to be put off for the next process, in milliseconds. */
const CUT_OFF_MS = 1_000;

/**
 * Delivers notifications: claims configurations that are due, and runs a `Delivery` for each, as many at once as the limits allow. It
 * looks when the engine has news, when the next one is due, and now and then. All that has to survive is in the store: what is
 * undelivered, when it is tried again, and who is at it.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #clock: ForwardClock;
  readonly #pollMs: number;
  readonly #hosts: Hosts<Delivery>;
  readonly #trials: Trials;
  readonly #pauses = new Pauses();
  readonly #settlements: Settlements;
  readonly #life: LifeWatch;
  readonly #parts: DeliveryParts;
  readonly #count = { sent: 0, failed: 0, givenUp: 0 };
  /** What this process has claimed, by key, until its end is stored. */
  readonly #claimed = new Map<string, Delivery>();
  #working = 0;
  #idle: () => void = () => {};
  #looking = false;
  #lookAgain = false;
  /** Whether to claim without a look at what is due before: there are news, or another process may be gone. */
  #mustClaim = false;
  /** Whether more may be due than there was room for. */
  #isCrowded = false;
  /** Whether a claim may have been made of which nothing was heard. */
  #unheard = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #crowdTimer: NodeJS.Timeout | undefined;
  #started = false;
  #ending = false;

  constructor(options: DispatcherOptions) {
    const { store, pushes, poster, signer, limits, headers = {}, audit = silentAudit } = options;
    this.#options = options;
    this.#clock = new ForwardClock(options.now ?? Date.now);
    this.#pollMs = options.pollMs ?? (store.shared ? SHARED_POLL_MS : POLL_MS);
    this.#hosts = new Hosts(limits);
    this.#trials = new Trials(limits.maxDeliveries);
    this.#life = new LifeWatch(pushes, store.shared);
    const now = (): number => this.#clock.now();
    const noteTrouble = this.#noteTrouble;
    this.#settlements = new Settlements({ store, now, noteTrouble });
    this.#parts = {
      store,
      pushes,
      poster,
      signer,
      limits,
      headers,
      noteTrouble,
      audit,
      pauses: this.#pauses,
      life: this.#life,
      wanted: createEventFilter(options.events),
      // A quarter is for small ones; the rest is shared by hosts that are proven and those that are not.
      smallBytes: limits.maxOutgoingPushBytes / 4 / limits.maxDeliveries,
      outgoing: new OutgoingBytes((limits.maxOutgoingPushBytes * 3) / 8),
      outgoingTrials: new OutgoingBytes((limits.maxOutgoingPushBytes * 3) / 8),
      count: this.#count,
      isEnding: () => this.#ending,
    };
  }

  /** Begins to deliver. */
  start(): void {
    if (this.#started || this.#ending) return;
    this.#started = true;
    this.#crowdTimer = background(setInterval(() => this.#makeRoom(), CROWDED_MS / 4));
    this.#options.pushes.onNews(() => this.#onNews());
    this.wake();
  }

  /** Looks for what is due. */
  wake(): void {
    if (this.#looking) this.#lookAgain = true;
    else if (!this.#ending) void this.#look();
  }

  #onNews(): void {
    this.#mustClaim ||= this.#claimed.size === 0;
    this.wake();
  }

  get status(): PushStatus {
    const hosts = this.#hosts.all();
    return {
      working: this.#working,
      waiting: hosts.reduce((sum, { waiting }) => sum + waiting.length, 0),
      ...this.#count,
      failingHosts: hosts.filter(({ failures }) => failures > 0).map(({ key, failures }) => ({ host: key, failures })),
    };
  }

  /** The clock by which deliveries are due, in milliseconds since the epoch. */
  now(): number {
    return this.#clock.now();
  }

  /**
   * Begins nothing more, gives what is being sent so many milliseconds, and leaves the rest to the next process, or the next start. When
   * it resolves nothing is sent any more.
   */
  async drain(graceMs: number): Promise<void> {
    this.#stop();
    for (const { waiting } of this.#hosts.all()) for (const delivery of waiting.splice(0)) this.#putOff(delivery, 0);
    const done = new Promise<void>((resolve) => {
      this.#idle = resolve;
      this.#noteEnd();
    });
    await within(graceMs, done);
    await this.#options.poster.close();
    await within(CUT_OFF_MS, done);
    this.#settlements.end();
  }

  /** Ends like a killed process: nothing more is stored, and nothing is waited for. */
  abandon(): void {
    this.#stop();
    this.#settlements.end();
    void this.#options.poster.close().catch(this.#noteTrouble);
  }

  #stop(): void {
    this.#ending = true;
    clearTimeout(this.#timer);
    clearInterval(this.#crowdTimer);
    this.#pauses.end();
    this.#life.end();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    let next: number | undefined;
    try {
      do {
        this.#lookAgain = false;
        next = await this.#claimDue();
      } while (this.#lookAgain && !this.#ending);
    } catch (error) {
      this.#noteTrouble(error);
      next = this.#clock.now() + TROUBLE_MS;
    } finally {
      this.#looking = false;
    }
    this.#lookAt(next);
  }

  /** Claims what is due, as far as there is room. @returns when something is due the next time, where that is known */
  async #claimDue(): Promise<number | undefined> {
    const { store, pushes, limits } = this.#options;
    const { holder, leaseMs } = pushes;
    while (!this.#ending) {
      const limit = limits.maxDeliveries - this.#claimed.size;
      this.#isCrowded = limit <= 0;
      // Whoever ends then looks again.
      if (this.#isCrowded) return undefined;
      // Others may take over what a process has whose signs of life do not arrive: it would keep from them what it must not send.
      if (!this.#life.isSure) return this.#clock.now() + leaseMs / 4;
      // An idle server claims news at once; otherwise it asks first whether there is something, which costs no write.
      const isSure = this.#mustClaim;
      this.#mustClaim = false;
      if (!isSure) {
        const next = await store.nextDelivery();
        if (next === undefined || next > this.#clock.now()) return next;
      }
      const { epoch } = this.#life;
      const again = this.#unheard;
      this.#unheard = true;
      const claimed = await store.claimDeliveries({
        holder,
        leaseMs,
        now: this.#clock.now(),
        limit,
        ...(again && { again }),
      });
      this.#unheard = false;
      for (const one of claimed) this.#take(one, epoch);
      // Whatever is claimed and put back, others have their turn.
      await nextRound();
      if (claimed.length === 0 && !isSure) return this.#clock.now() + LEAST_WAIT_MS;
    }
    return undefined;
  }

  /** Looks at a time, if not before. */
  #lookAt(time: number | undefined): void {
    if (this.#ending) return;
    const now = this.#clock.now();
    const ms = Math.max(LEAST_WAIT_MS, Math.min(this.#pollMs, (time ?? Number.POSITIVE_INFINITY) - now));
    if (this.#timerAt <= now + ms && this.#timerAt > now) return;
    clearTimeout(this.#timer);
    this.#timerAt = now + ms;
    this.#timer = background(
      setTimeout(() => {
        this.#timerAt = Number.POSITIVE_INFINITY;
        // What a process holds that is gone is due to nobody before it is claimed.
        this.#mustClaim ||= this.#options.store.shared;
        this.wake();
      }, ms),
    );
  }

  /** Begins a delivery, lets it wait for its host, or puts it off. */
  #take(claimed: ClaimedDelivery, epoch: number): void {
    const known = this.#claimed.get(nameOf(claimed));
    // Asked for again while it is at work or waits.
    if (known !== undefined && !known.isOver) {
      known.renew(claimed, epoch);
      if (!known.isLost || !known.host.unqueue(known)) return;
      known.isOver = true;
    }
    const delivery = this.#open(claimed, epoch);
    if (delivery === undefined) return;
    this.#claimed.set(nameOf(claimed), delivery);
    this.#admit(delivery);
  }

  #admit(delivery: Delivery): void {
    const { host } = delivery;
    if (this.#ending) return this.#putOff(delivery, 0);
    const admission = this.#askFor(delivery, false);
    if (admission === "go") this.#begin(delivery);
    else if (admission === "wait") host.waiting.push(delivery);
    else this.#putOff(delivery, admission.offMs);
  }

  #askFor({ host, claimed }: Delivery, isFirst: boolean): Admission {
    const { maxDeliveries } = this.#options.limits;
    // What waits for hosts that nobody knows yet has a part of the places as well.
    const canWait = this.#claimed.size - this.#working <= maxDeliveries / 4;
    const room = { canTry: this.#trials.hasRoom(claimed.owner), canWait };
    return host.admit(performance.now(), room, isFirst);
  }

  #begin(delivery: Delivery): void {
    const { host, claimed } = delivery;
    if (!host.isProven) delivery.endTrial = this.#trials.begin(claimed.owner);
    void this.#run(delivery);
  }

  /** @returns undefined for one that cannot be read: it is put off, or counts as failed */
  #open(claimed: ClaimedDelivery, epoch: number): Delivery | undefined {
    const { open, parse } = this.#options;
    try {
      const config = open(claimed, claimed.bytes);
      const target = parse(config.url);
      const host = this.#hosts.get(target.host, performance.now());
      return new Delivery(this.#parts, { claimed, config, target, host, epoch });
    } catch (error) {
      const outcome: DeliveryOutcome =
        error instanceof MissingKeyError
          ? { kind: "later", at: this.#clock.now() + UNREADABLE_MS }
          : failed(claimed, { failure: sentenceOf(error) }, this.#judgement());
      const { position } = claimed;
      void this.#settle(claimed, position, outcome);
      return undefined;
    }
  }

  async #run(delivery: Delivery): Promise<void> {
    const { host } = delivery;
    this.#working++;
    let ending: Ending;
    try {
      ending = await delivery.run(() => this.#isCrowded || host.waiting.length > 0);
    } catch (error) {
      ending = this.#unreadable(delivery, error);
    }
    this.#working--;
    delivery.isOver = true;
    delivery.endTrial();
    host.leave();
    this.#next(host);
    if (delivery.isLost) return this.#forget(delivery);
    const outcome = outcomeOf(delivery, ending, this.#judgement());
    if (outcome === undefined) this.#forget(delivery);
    else await this.#end(delivery, outcome);
  }

  async #end(delivery: Delivery, outcome: DeliveryOutcome): Promise<void> {
    const said = await this.#settle({ ...delivery.key, claim: delivery.claim }, delivery.position, outcome);
    // Another claim may have come before this answer.
    if (said === "more" && this.#claimed.get(nameOf(delivery.key)) === delivery) {
      delivery.isOver = false;
      this.#admit(delivery);
    } else this.#forget(delivery);
  }

  async #settle(
    { taskId, configId, claim }: PushConfigKey & { readonly claim: number },
    position: number,
    outcome: DeliveryOutcome,
  ): Promise<"more" | "over"> {
    const { holder } = this.#options.pushes;
    const key = { taskId, configId };
    if (outcome.kind === "dead") this.#noteGivenUp(key, outcome.failure);
    else if (outcome.kind !== "done") this.#lookAt(outcome.at);
    const said = await this.#settlements.settle({ key, holder, claim, position, outcome });
    this.#noteEnd();
    return said;
  }

  #forget(delivery: Delivery): void {
    const name = nameOf(delivery.key);
    if (this.#claimed.get(name) === delivery) {
      this.#claimed.delete(name);
      if (delivery.successor !== undefined) this.#take(delivery.successor.claimed, delivery.successor.epoch);
    }
    this.#noteEnd();
    // A quarter of the room at a time: each look at the store may be a write.
    const { maxDeliveries } = this.#options.limits;
    if (this.#isCrowded && this.#claimed.size <= (maxDeliveries * 3) / 4) this.wake();
  }

  /** Breaks off what takes long where nothing else can begin. */
  #makeRoom(): void {
    if (!this.#isCrowded && !this.#parts.outgoing.isCrowded) return;
    for (const delivery of this.#claimed.values()) delivery.makeRoom(CROWDED_MS);
  }

  /** Begins what waited for its host, as far as it may. */
  #next(host: Host<Delivery>): void {
    const { waiting } = host;
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const admission = this.#askFor(next, true);
      if (admission === "wait") return;
      waiting.shift();
      if (admission === "go") this.#begin(next);
      else this.#putOff(next, admission.offMs);
    }
  }

  #putOff(delivery: Delivery, offMs: number): void {
    const { host, claimed, progressed } = delivery;
    delivery.isOver = true;
    const now = this.#clock.now();
    const hostFailingSince = host.failingSince && now - (performance.now() - host.failingSince);
    const before = progressed ? { failingSince: undefined } : claimed;
    void this.#end(delivery, putOff(before, { offMs, hostFailingSince }, this.#judgement()));
  }

  #unreadable(delivery: Delivery, error: unknown): Ending {
    logTrouble(this.#options.logger, error, delivery.key, "the log of a task could not be read to deliver it");
    if (isOutage(error)) return { kind: "later", ms: TROUBLE_MS };
    return { kind: "failed", failure: "the events of the task could not be read", retryAfterMs: 0, gone: false };
  }

  #judgement(): Judgement {
    const { limits, pushes } = this.#options;
    return { limits, now: this.#clock.now(), isSteady: () => pushes.isSteady() };
  }

  #noteGivenUp(key: PushConfigKey, failure: string): void {
    this.#count.givenUp++;
    this.#options.audit?.record({ event: "push.dead-lettered", target: `${key.taskId}/${key.configId}` });
    this.#options.logger.warn({ ...key, failure }, "push notifications were given up");
  }

  #noteEnd(): void {
    if (this.#ending && this.#claimed.size === 0 && this.#settlements.pending === 0) this.#idle();
  }

  readonly #noteTrouble = (error: unknown): void => {
    if (this.#ending) return;
    logTrouble(this.#options.logger, error, {}, "the store failed at push notifications; it is tried again");
  };
}

function nameOf({ taskId, configId }: PushConfigKey): string {
  return `${taskId}\0${configId}`;
}

/** What is wrong with a configuration, for people. */
function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
