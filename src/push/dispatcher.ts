import { silentAudit } from "../audit/audit.js";
import { background, Semaphore, share, Waiters, within } from "../core/async.js";
import { withinHeap } from "../core/limits.js";
import { logFacts } from "../core/log.js";
import { TransientMap } from "../core/maps.js";
import { messageIn } from "../core/members.js";
import { isOutage, logTrouble } from "../engine/log/outage.js";
import type { ClaimedDelivery, DeliveryOutcome, DeliveryProgress, PushConfigKey } from "../store/task-store.js";
import { type Attempt, AttemptRing } from "./attempt-history.js";
import { Claimer, TROUBLE_MS } from "./claimer.js";
import { DueClock } from "./clock.js";
import { ClockSkewRepair } from "./clock-skew-repair.js";
import { CompletionQueue } from "./completion-queue.js";
import { Delivery, type DeliveryParts, deliveryKey } from "./delivery.js";
import { DeliveryCause } from "./delivery-cause.js";
import type { DispatcherOptions, PushStatus } from "./dispatcher-options.js";
import { createEventFilter, createTaskFilter } from "./event-filter.js";
import { type Admission, type Host, Hosts, ProbeBudget } from "./host-limiter.js";
import { LeaseGuard } from "./lease-guard.js";
import { type OperatorEvent, OperatorSends } from "./operator-sends.js";
import { type Ending, failedOutcome, type Judgement, outcomeOf, putOff, UNREADABLE_MS } from "./outcome.js";
import { MissingKeyError } from "./secrets.js";
import type { PostOutcome } from "./target/post.js";
import { PastFolds } from "./task-bodies.js";

/**
 * Interval of polling for deliveries without a notification, in milliseconds: on a shared store, and on an unshared
 * one.
 */
const SHARED_POLL_MS = 1_000;
const POLL_MS = 30_000;

/**
 * Time limit of a request while others wait for a slot or buffer space, in milliseconds: hosts that stall all at once
 * delay others no longer than this.
 */
const CROWDED_MS = 2_000;

/** Time to postpone aborted deliveries during shutdown, in milliseconds. */
const CUT_OFF_MS = 1_000;

/** Total size of the notifications being sent; a larger one is sent alone. */
export const outgoingPushes: { readonly maxBytes: number } = { maxBytes: withinHeap(64 * 1024 * 1024, 8) };

/**
 * Delivers notifications: claims due configurations and runs a `Delivery` for each, as many at once as the limits
 * allow. It polls when the engine notifies it, when the next one is due, and periodically. All durable state is in the
 * store: undelivered entries, the time of the next attempt, and the holder of each claim.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #clock: DueClock;
  readonly #repair: ClockSkewRepair;
  readonly #hosts: Hosts<Delivery>;
  readonly #probes: ProbeBudget;
  readonly #shutdown = new AbortController();
  readonly #completions: CompletionQueue;
  readonly #leaseGuard: LeaseGuard;
  readonly #claimer: Claimer;
  readonly #parts: DeliveryParts;
  readonly #attempts: AttemptRing;
  readonly #sends: OperatorSends;
  readonly #count = { sent: 0, failed: 0, givenUp: 0 };
  /** The claims of this process by name, until their outcome is stored. */
  readonly #claimed = new TransientMap<Delivery>();
  #working = 0;
  readonly #idle = new Waiters();
  #crowdTimer: NodeJS.Timeout | undefined;
  #started = false;

  constructor(options: DispatcherOptions) {
    const { store, pushes, poster, signer, limits, headers = {}, nativeHeaders = {}, audit = silentAudit } = options;
    this.#options = options;
    share(this.#shutdown.signal);
    this.#clock = new DueClock(options.now ?? Date.now, () => this.#repair.noteSetback());
    this.#hosts = new Hosts(limits);
    this.#probes = new ProbeBudget(limits.maxDeliveries, () => this.#sends.next());
    this.#leaseGuard = new LeaseGuard(pushes, store.shared);
    const now = (): number => this.#clock.now();
    this.#repair = new ClockSkewRepair({ store, limits, logger: options.logger, now, wake: () => this.wake() });
    const noteTrouble = this.#noteTrouble;
    this.#completions = new CompletionQueue({ store, now, noteTrouble });
    this.#claimer = new Claimer({
      store,
      pushes,
      noteTrouble,
      clock: this.#clock,
      hosts: this.#hosts,
      leaseGuard: this.#leaseGuard,
      pollMs: options.pollMs ?? (store.shared ? SHARED_POLL_MS : POLL_MS),
      places: () => limits.maxDeliveries - this.#claimed.size,
      take: (claimed, epoch) => this.#take(claimed, epoch),
    });
    this.#attempts = new AttemptRing();
    this.#parts = {
      store,
      attempts: this.#attempts,
      pushes,
      poster,
      signer,
      limits,
      headers: Object.entries(headers).flat(),
      nativeHeaders: Object.entries(nativeHeaders).flat(),
      restorations: store.restorations ?? [],
      dialectOf: options.dialectOf ?? (() => undefined),
      noteTrouble,
      audit,
      ...{ logger: options.logger, tracing: options.tracing, agentName: options.agentName ?? (() => undefined) },
      leaseGuard: this.#leaseGuard,
      wanted: createEventFilter(options.events),
      wantedWithTask: createTaskFilter(options.events),
      // A quarter for small notifications; proven and unproven hosts share the rest.
      smallBytes: outgoingPushes.maxBytes / 4 / limits.maxDeliveries,
      folds: new PastFolds(outgoingPushes.maxBytes / 4),
      outgoing: new Semaphore((outgoingPushes.maxBytes * 3) / 8),
      outgoingProbes: new Semaphore((outgoingPushes.maxBytes * 3) / 8),
      count: (outcome, ms) => this.#counted(outcome, ms),
      freed: (host) => this.#next(host),
      shutdown: this.#shutdown.signal,
    };
    const { open, parse } = options;
    this.#sends = new OperatorSends({ parts: this.#parts, hosts: this.#hosts, probes: this.#probes, open, parse });
  }

  start(): void {
    if (this.#started || this.#shutdown.signal.aborted) return;
    this.#started = true;
    this.#crowdTimer = background(setInterval(() => this.#breakOffSlow(), CROWDED_MS / 4));
    this.#options.pushes.onAppend(() => this.#onAppend());
    this.#options.store.history?.onMove(this.#onMove);
    this.#repair.start();
    this.wake();
  }

  /** Polls for due deliveries. */
  wake(): void {
    this.#claimer.wake();
  }

  #onAppend(): void {
    if (this.#claimed.size === 0) this.#claimer.claimNow();
    else this.wake();
  }

  /** Gives up all claims: the store has released them, and may lack events that were sent. */
  readonly #onMove = async (): Promise<void> => {
    for (const delivery of this.#claimed.values()) delivery.isLost = true;
    this.#parts.folds.clear();
  };

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

  /** Sends an operator's event: see `OperatorSends`. */
  send(event: OperatorEvent): Promise<Attempt> {
    return this.#sends.send(event);
  }

  /** Attempts of this process that are not stored: see `AttemptRing`. */
  attemptsOf(key: PushConfigKey): Attempt[] {
    return this.#attempts.of(key);
  }

  /**
   * Stops starting deliveries, gives those in progress `graceMs`, and leaves the rest to the next process or start.
   * After it resolves nothing more is sent.
   */
  async drain(graceMs: number): Promise<void> {
    this.#stop();
    for (const { waiting } of this.#hosts.all()) for (const delivery of waiting.splice(0)) this.#putOff(delivery, 0);
    // A claim in flight may bring more, which is put off as well.
    const done = this.#claimer.ended.then(() => {
      const idle = this.#idle.wait();
      this.#noteEnd();
      return idle;
    });
    await within(graceMs, done);
    await this.#options.poster.close();
    await within(CUT_OFF_MS, done);
    this.#completions.end();
  }

  /** Ends like a killed process: stores nothing more and waits for nothing. */
  abandon(): void {
    this.#stop();
    this.#completions.end();
    void this.#options.poster.close().catch(this.#noteTrouble);
  }

  #stop(): void {
    this.#shutdown.abort();
    this.#claimer.end();
    this.#repair.end();
    clearInterval(this.#crowdTimer);
    this.#leaseGuard.end();
  }

  /** Starts a delivery, queues it for its host, or postpones it. */
  #take(claimed: ClaimedDelivery, epoch: number): void {
    const known = this.#claimed.get(deliveryKey(claimed));
    // Claimed again while it is running or queued.
    if (known !== undefined && !known.isOver) {
      known.renew(claimed, epoch);
      if (!known.isLost || !known.host.unqueue(known)) return;
      known.isOver = true;
      // The successor may be unreadable, and then takes no slot.
      this.#claimed.delete(known.name);
    }
    const delivery = this.#open(claimed, epoch);
    if (delivery === undefined) return;
    this.#claimed.set(delivery.name, delivery);
    this.#admit(delivery);
  }

  #admit(delivery: Delivery): void {
    const { host } = delivery;
    if (this.#shutdown.signal.aborted) return this.#putOff(delivery, 0);
    const admission = this.#askFor(delivery, false);
    if (admission === "go") this.#begin(delivery);
    else if (admission === "wait") host.waiting.push(delivery);
    else this.#putOff(delivery, admission.offMs);
  }

  #askFor({ host, claimed }: Delivery, isFirst: boolean): Admission {
    const { maxDeliveries } = this.#options.limits;
    // Deliveries queued for unproven hosts also have a share of the slots.
    const canWait = this.#claimed.size - this.#working <= maxDeliveries / 4;
    const capacity = { canTry: this.#probes.hasCapacity(claimed.owner), canWait };
    return host.admit(performance.now(), capacity, isFirst);
  }

  #begin(delivery: Delivery): void {
    const { host, claimed } = delivery;
    if (!host.isHealthy) delivery.endProbe = this.#probes.begin(claimed.owner);
    void this.#run(delivery);
  }

  /** @returns undefined if the configuration cannot be read: it is postponed, or counts as failed */
  #open(claimed: ClaimedDelivery, epoch: number): Delivery | undefined {
    const { open, parse } = this.#options;
    try {
      const opened = open(claimed, claimed.bytes);
      const target = parse(opened.config.url);
      const host = this.#hosts.get(target.host, performance.now());
      return new Delivery(this.#parts, { claimed, opened, target, host, epoch });
    } catch (error) {
      const outcome: DeliveryOutcome =
        error instanceof MissingKeyError
          ? { kind: "later", at: this.#clock.now() + UNREADABLE_MS }
          : failedOutcome(claimed, { failure: messageIn(error) }, this.#judgement());
      const { taskId, configId, claim, position } = claimed;
      const cause = new DeliveryCause(this.#parts, claimed, this.#parts.wanted);
      void this.#complete({ key: { taskId, configId }, claim, position, cause }, outcome);
      return undefined;
    }
  }

  async #run(delivery: Delivery): Promise<void> {
    const { host } = delivery;
    this.#working++;
    let ending: Ending;
    try {
      ending = await delivery.run(() => this.#claimer.isCrowded || host.waiting.length > 0);
    } catch (error) {
      ending = this.#unreadable(delivery, error);
    }
    this.#working--;
    delivery.isOver = true;
    delivery.endProbe();
    host.release();
    this.#next(host);
    if (delivery.isLost) return this.#forget(delivery);
    const outcome = outcomeOf(delivery, ending, this.#judgement());
    if (outcome === undefined) this.#forget(delivery);
    else await this.#end(delivery, outcome);
  }

  async #end(delivery: Delivery, outcome: DeliveryOutcome): Promise<void> {
    const completion = await this.#complete(delivery, outcome);
    // Another claim may have come before this answer.
    if (completion === "more" && this.#claimed.get(delivery.name) === delivery) {
      delivery.isOver = false;
      this.#admit(delivery);
    } else this.#forget(delivery);
  }

  async #complete(
    { key, claim, position, cause }: Omit<DeliveryProgress, "holder"> & { readonly cause: DeliveryCause },
    outcome: DeliveryOutcome,
  ): Promise<"more" | "over"> {
    const { holder } = this.#options.pushes;
    const completing = this.#completions.complete({ key, holder, claim, position, outcome });
    if (outcome.kind === "dead") await this.#noteGivenUp(key, outcome.failure, cause);
    const completion = await completing;
    // Polls found nothing before the outcome was stored, and may have scheduled the next one much later.
    if (outcome.kind !== "dead" && outcome.kind !== "done") this.#claimer.claimAt(outcome.at);
    this.#noteEnd();
    return completion;
  }

  #forget(delivery: Delivery): void {
    if (this.#claimed.get(delivery.name) === delivery) {
      this.#claimed.delete(delivery.name);
      if (delivery.successor !== undefined) this.#take(delivery.successor.claimed, delivery.successor.epoch);
    }
    this.#noteEnd();
    // Waits for a quarter of the slots to be free: each poll may be a write.
    const { maxDeliveries } = this.#options.limits;
    if (this.#claimer.isCrowded && this.#claimed.size <= (maxDeliveries * 3) / 4) this.wake();
  }

  /** Aborts long requests if nothing else can start. */
  #breakOffSlow(): void {
    if (!this.#claimer.isCrowded && !this.#parts.outgoing.isCrowded) return;
    for (const delivery of this.#claimed.values()) delivery.breakOffSlow(CROWDED_MS);
  }

  /** Starts deliveries queued for a host, within its limits. */
  #next(host: Host<Delivery>): void {
    const { waiting } = host;
    this.#sends.next();
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const admission = this.#askFor(next, true);
      if (admission === "wait") break;
      waiting.shift();
      if (admission === "go") this.#begin(next);
      else this.#putOff(next, admission.offMs);
    }
    this.#askForMore(host);
  }

  #askForMore(host: Host<Delivery>): void {
    if (!host.canHaveMore) return;
    host.hasMore = false;
    this.wake();
  }

  #putOff(delivery: Delivery, offMs: number): void {
    const { host, claimed, progressed } = delivery;
    delivery.isOver = true;
    const judgement = this.#judgement();
    const hostFailingSince = host.failingSince && judgement.now - (performance.now() - host.failingSince);
    const before = progressed ? { failingSince: undefined } : claimed;
    void this.#end(delivery, putOff(before, { offMs, hostFailingSince }, judgement));
  }

  #unreadable(delivery: Delivery, error: unknown): Ending {
    const facts = { ...delivery.key, ...logFacts(delivery.cause) };
    logTrouble(this.#options.logger, error, facts, "the log of a task could not be read to deliver it");
    if (isOutage(error)) return { kind: "later", ms: TROUBLE_MS };
    return { kind: "failed", failure: "the events of the task could not be read", retryAfterMs: 0, gone: false };
  }

  #judgement(): Judgement {
    const { limits, pushes } = this.#options;
    return { limits, now: this.#clock.now(), isSteady: () => pushes.isSteady() };
  }

  #counted(outcome: PostOutcome, ms: number): void {
    const { kind } = outcome;
    if (kind === "accepted") this.#count.sent++;
    else this.#count.failed++;
    this.#options.metrics?.attempted(kind === "failed" && outcome.forbidden ? "forbidden" : kind, ms);
  }

  async #noteGivenUp(key: PushConfigKey, failure: string, cause: DeliveryCause): Promise<void> {
    this.#count.givenUp++;
    this.#options.metrics?.deadLetters.add();
    await cause.complete();
    const facts = logFacts(cause);
    this.#options.audit?.record({
      event: "push.dead-lettered",
      target: `${key.taskId}/${key.configId}`,
      ...facts,
    });
    this.#options.logger.warn({ ...key, ...facts, failure }, "push notifications were given up");
  }

  #noteEnd(): void {
    if (this.#shutdown.signal.aborted && this.#claimed.size === 0 && this.#completions.pending === 0)
      this.#idle.release();
  }

  readonly #noteTrouble = (error: unknown): void => {
    if (this.#shutdown.signal.aborted) return;
    logTrouble(this.#options.logger, error, {}, "the store could not process push notifications; retrying later");
  };
}
