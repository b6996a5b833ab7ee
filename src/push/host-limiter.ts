import { backoffMs } from "../core/async.js";
import type { Limits } from "../core/limits.js";
import { decrement, increment } from "../core/maps.js";
import { pushRetry } from "./outcome.js";

type HostLimits = Pick<Limits, "maxDeliveries" | "maxDeliveriesPerHost" | "maxDeliveriesPerHostPerSecond">;

/** The circuit breaker of a failing host. */
export const hostRest = {
  /** Consecutive failures, of any configurations, that open its circuit. */
  failures: 5,
  /**
   * Maximum rest between two attempts, in milliseconds; each is twice the previous one. A recovered host waits at most
   * this long.
   */
  maxMs: 60_000,
} as const;

/**
 * Share of all slots that deliveries queued for one host may take, or as many as the host's own limit; further ones are
 * postponed, which takes two writes.
 */
const WAITING_SHARE = 0.375;

/** Maximum number of deliveries queued for one host. */
function maxQueuedPerHost({ maxDeliveries, maxDeliveriesPerHost }: HostLimits): number {
  return Math.max(maxDeliveriesPerHost, Math.floor(WAITING_SHARE * maxDeliveries));
}

/** Minimum delay of a postponed delivery, in milliseconds. */
const LEAST_OFF_MS = 50;

/** Weight of a new sample in the average response time of the host. */
const SAMPLE_SHARE = 0.1;

/** Free slots for unproven hosts. */
interface ProbeCapacity {
  readonly canTry: boolean;
  readonly canWait: boolean;
}

/** Admission of a delivery to a host: it starts, is queued here, or is postponed by `offMs` milliseconds. */
export type Admission = "go" | "wait" | { readonly offMs: number };

/**
 * State of one receiving host: number of deliveries in progress, pace, and failures. All times are monotonic
 * milliseconds.
 *
 * A host without a success yet, or whose last request failed, gets one notification at a time; each success doubles
 * that, up to its limit. So stalled hosts take few slots, however many they are.
 *
 * The circuit opens after `hostRest.failures` consecutive failures, of any configurations. The host then rests, longer
 * each time, and after each rest one delivery probes it; the first success closes the circuit.
 */
export class Host<T> {
  readonly key: string;
  /** Deliveries queued for a free slot. */
  readonly waiting: T[] = [];
  /** True if more of its deliveries may be due than had room. */
  hasMore = false;
  readonly #limits: HostLimits;
  #working = 0;
  #failures = 0;
  #failingSince: number | undefined;
  #restsUntil = 0;
  #nextSend = 0;
  #reservedUntil = 0;
  #answerMs = 0;
  /** Maximum number of concurrent deliveries at present. */
  #window = 1;
  /** Start of its probe without a success yet. */
  #tryingSince: number | undefined;

  constructor(key: string, limits: HostLimits) {
    this.key = key;
    this.#limits = limits;
  }

  get working(): number {
    return this.#working;
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /** Time of the first of them. */
  get failingSince(): number | undefined {
    return this.#failingSince;
  }

  /** True if its last request succeeded. */
  get isHealthy(): boolean {
    return this.#window > 1;
  }

  /**
   * Number of further deliveries to claim for it; the rest stays in the store. Undefined for an idle host, and for an
   * unproven one: its deliveries are claimed and postponed, so that they age.
   */
  get capacity(): number | undefined {
    if (!this.isHealthy || (this.#working === 0 && this.waiting.length === 0)) return undefined;
    const places = Math.min(this.#window, this.#limits.maxDeliveriesPerHost) - this.#working;
    return Math.max(0, places) + Math.max(0, maxQueuedPerHost(this.#limits) - this.waiting.length);
  }

  /**
   * True if it has room again for enough deliveries to make a claim worthwhile, while the queue lasts for the time of
   * the claim.
   */
  get canHaveMore(): boolean {
    return this.hasMore && this.waiting.length <= maxQueuedPerHost(this.#limits) * (2 / 3);
  }

  /** True if it has no state to keep. */
  isForgettable(now: number): boolean {
    return this.#working === 0 && this.waiting.length === 0 && this.#failures === 0 && this.#nextSend < now;
  }

  /**
   * Tells if a further delivery may start. One that starts counts until `release`.
   * @param capacity free slots for unproven hosts
   * @param isFirst true for the first of the queue
   */
  admit(now: number, capacity: ProbeCapacity, isFirst = false): Admission {
    if (now < this.#restsUntil) return { offMs: this.#restsUntil - now + this.#reserve(now) };
    const { isHealthy } = this;
    if (this.tryAcquire(now, capacity.canTry)) return "go";
    const mayWait =
      (isHealthy || (capacity.canWait && this.#working > 0)) &&
      (isFirst || this.waiting.length < maxQueuedPerHost(this.#limits));
    return mayWait ? "wait" : { offMs: isHealthy ? this.#reserve(now) : this.#nextTry(now) };
  }

  /**
   * Takes a free slot until `release`, also while the host rests: an operator's event then is its probe.
   * @param canTry true if a slot for unproven hosts is free
   */
  tryAcquire(now: number, canTry: boolean): boolean {
    const places = Math.min(this.#window, this.#limits.maxDeliveriesPerHost);
    if (this.#working >= places || !(this.isHealthy || canTry)) return false;
    this.#working++;
    this.#tryingSince ??= now;
    return true;
  }

  /** Removes a delivery from the queue. @returns true if it was queued */
  unqueue(delivery: T): boolean {
    const index = this.waiting.indexOf(delivery);
    if (index >= 0) this.waiting.splice(index, 1);
    return index >= 0;
  }

  /** Records the end of a delivery. */
  release(): void {
    this.#working--;
  }

  /** Delay of the next notification, so that the host gets at most its limit per second. */
  pace(now: number): number {
    const gapMs = 1_000 / this.#limits.maxDeliveriesPerHostPerSecond;
    // Permits a burst of a tenth of a second.
    const begin = Math.max(this.#nextSend, now - 100);
    this.#nextSend = begin + gapMs;
    return Math.max(0, begin - now);
  }

  /** Records an accepted notification and its duration in milliseconds. @returns true if more may be sent at once */
  succeeded(ms: number): boolean {
    this.#answerMs += (ms - this.#answerMs) * (this.#answerMs === 0 ? 1 : SAMPLE_SHARE);
    this.#tryingSince = undefined;
    const grows = this.#window < this.#limits.maxDeliveriesPerHost || this.#window === 1;
    if (grows) this.#window *= 2;
    if (this.#failures === 0) return grows;
    this.#failures = 0;
    this.#failingSince = undefined;
    this.#restsUntil = 0;
    this.#reservedUntil = 0;
    return grows;
  }

  /** Records a failure: unreachable, timed out or overloaded. @returns true if that opens the circuit */
  failed(now: number): boolean {
    this.#window = 1;
    // Concurrent deliveries that fail together lengthen the rest only once.
    if (now < this.#restsUntil) return false;
    this.#failingSince ??= now;
    this.#failures++;
    if (this.#failures < hostRest.failures) return false;
    const rests = this.#failures - hostRest.failures + 1;
    this.#restsUntil = now + backoffMs(rests, { firstMs: pushRetry.firstMs, maxMs: hostRest.maxMs, jitter: 0 });
    return this.#failures === hostRest.failures;
  }

  /** Retry time for a delivery postponed by a probe: later the longer the probe takes, with jitter. */
  #nextTry(now: number): number {
    const triedMs = now - (this.#tryingSince ?? now);
    return Math.max(pushRetry.firstMs, triedMs) * (0.5 + Math.random());
  }

  /** Retry time for a postponed delivery, spread so that they return at the pace of the host. */
  #reserve(now: number): number {
    const { maxDeliveriesPerHost, maxDeliveriesPerHostPerSecond } = this.#limits;
    const gapMs = Math.max(1_000 / maxDeliveriesPerHostPerSecond, this.#answerMs / maxDeliveriesPerHost);
    this.#reservedUntil = Math.max(this.#reservedUntil, now + LEAST_OFF_MS) + gapMs;
    return this.#reservedUntil - now;
  }
}

/** Maximum number of hosts in memory; the ones that failed longest ago are evicted first. */
const MAX_HOSTS = 10_000;

/** The receiving hosts with state to keep. */
export class Hosts<T> {
  readonly #limits: HostLimits;
  readonly #hosts = new Map<string, Host<T>>();

  constructor(limits: HostLimits) {
    this.#limits = limits;
  }

  get(key: string, now: number): Host<T> {
    const known = this.#hosts.get(key);
    if (known !== undefined) return known;
    if (this.#hosts.size >= MAX_HOSTS) this.#forget(now);
    const host = new Host<T>(key, this.#limits);
    this.#hosts.set(key, host);
    return host;
  }

  /** Number of further deliveries to claim for each busy host, and for each other host. */
  capacities(): { readonly of: ReadonlyMap<string, number>; readonly others: number } {
    const of = new Map<string, number>();
    for (const [key, { capacity }] of this.#hosts) if (capacity !== undefined) of.set(key, capacity);
    return { of, others: this.#limits.maxDeliveriesPerHost + maxQueuedPerHost(this.#limits) };
  }

  all(): Host<T>[] {
    return [...this.#hosts.values()];
  }

  #forget(now: number): void {
    for (const [key, host] of this.#hosts) if (host.isForgettable(now)) this.#hosts.delete(key);
    for (const [key, host] of this.#hosts) {
      if (this.#hosts.size < MAX_HOSTS) return;
      if (host.working === 0 && host.waiting.length === 0) this.#hosts.delete(key);
    }
  }
}

/** Divisor: the share of all slots for unproven hosts. */
const SHARE = 2;

/** Divisor: the share of those for one owner, if owners have names. */
const SHARE_OF_OWNER = 4;

/**
 * Counts the deliveries to unproven hosts. They have a share of the slots, and each owner a share of that, so that
 * stalled hosts cannot starve healthy ones or new ones of other owners.
 */
export class ProbeBudget {
  readonly #max: number;
  readonly #maxOfOwner: number;
  readonly #byOwner = new Map<string, number>();
  readonly #freed: () => void;
  #count = 0;

  /**
   * @param places number of slots
   * @param freed called when a slot becomes free
   */
  constructor(places: number, freed: () => void) {
    this.#freed = freed;
    this.#max = Math.max(1, Math.floor(places / SHARE));
    this.#maxOfOwner = Math.max(1, Math.floor(this.#max / SHARE_OF_OWNER));
  }

  /** True if the owner has a free slot; anonymous callers share one quota. */
  hasCapacity(owner: string): boolean {
    if (this.#count >= this.#max) return false;
    return owner === "" || (this.#byOwner.get(owner) ?? 0) < this.#maxOfOwner;
  }

  /** Takes a slot. @returns a function that frees it, once */
  begin(owner: string): () => void {
    this.#count++;
    increment(this.#byOwner, owner);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count--;
      decrement(this.#byOwner, owner);
      this.#freed();
    };
  }
}
