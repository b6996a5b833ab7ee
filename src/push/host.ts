import type { Limits } from "../core/limits.js";
import { pushRetry } from "./timing.js";

/** The limits of one host. */
type HostLimits = Pick<Limits, "maxDeliveries" | "maxDeliveriesPerHost" | "maxDeliveriesPerHostPerSecond">;

/** When a host that fails rests. */
export const hostRest = {
  /** Failures in a row, of whatever configurations, that open its circuit. */
  failures: 5,
  /** The longest rest between two tries, in milliseconds; each is twice the one before. A host that works again waits no longer than this. */
  maxMs: 60_000,
} as const;

/**
 * What has to wait for its host waits in memory, up to so much of all places, and as many as the host gets at once; the rest is put off, which
 * is two writes.
 */
const WAITING_SHARE = 0.375;

/** How many deliveries may wait for one host. */
function mostWaiting({ maxDeliveries, maxDeliveriesPerHost }: HostLimits): number {
  return Math.max(maxDeliveriesPerHost, Math.floor(WAITING_SHARE * maxDeliveries));
}

/** What is put off comes back after this time at the earliest, in milliseconds. */
const LEAST_OFF_MS = 50;

/** How much a new sample counts for how long the host takes. */
const SAMPLE_SHARE = 0.1;

/** What is left for hosts that have taken nothing yet. */
interface TrialRoom {
  readonly canTry: boolean;
  readonly canWait: boolean;
}

/** What becomes of a delivery to a host: it begins, waits here, or is put off by so many milliseconds. */
export type Admission = "go" | "wait" | { readonly offMs: number };

/**
 * What is known of one host that receives notifications: how many go there now, how fast they may, and whether it answers. All times are of
 * a clock that only counts up, in milliseconds.
 *
 * A host that has taken nothing yet, or failed the last time, gets one notification at a time; each that it takes doubles that, up
 * to its limit. So hosts that stall hold few places, however many of them there are.
 *
 * The circuit opens after `hostRest.failures` failures in a row, whatever configurations they were of. The host then rests, longer
 * each time, and after each rest one delivery tries it; the first success closes the circuit.
 */
export class Host<T> {
  readonly key: string;
  /** Deliveries that wait for one of those at work to end. */
  readonly waiting: T[] = [];
  /** More may be due of it than there was room for. */
  hasMore = false;
  readonly #limits: HostLimits;
  #working = 0;
  #failures = 0;
  #failingSince: number | undefined;
  #restMs = 0;
  #restsUntil = 0;
  #nextSend = 0;
  #reservedUntil = 0;
  #answerMs = 0;
  /** How many deliveries it may have at once. */
  #window = 1;
  /** Since when it is tried without having taken anything. */
  #tryingSince: number | undefined;

  constructor(key: string, limits: HostLimits) {
    this.key = key;
    this.#limits = limits;
  }

  /** Deliveries at work. */
  get working(): number {
    return this.#working;
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /** When the first of them was. */
  get failingSince(): number | undefined {
    return this.#failingSince;
  }

  /** Until when it is not tried; a time that is over for a host that answers. */
  get restsUntil(): number {
    return this.#restsUntil;
  }

  /** Whether it took the last notification that it could. */
  get isProven(): boolean {
    return this.#window > 1;
  }

  /**
   * How many more may be claimed for it: what has no room waits in the store, untouched. Undefined for one that nothing is sent to, and
   * for one that is not proven: what is due of that is claimed, since it ages, and put off.
   */
  get room(): number | undefined {
    if (!this.isProven || (this.#working === 0 && this.waiting.length === 0)) return undefined;
    const places = Math.min(this.#window, this.#limits.maxDeliveriesPerHost) - this.#working;
    return Math.max(0, places) + Math.max(0, mostWaiting(this.#limits) - this.waiting.length);
  }

  /** Whether there is room again for what had none: so much that a claim is worth it, and while enough waits here for as long as that takes. */
  get canHaveMore(): boolean {
    return this.hasMore && this.waiting.length <= mostWaiting(this.#limits) * (2 / 3);
  }

  /** Whether nothing has to be remembered of it. */
  isForgettable(now: number): boolean {
    return this.#working === 0 && this.waiting.length === 0 && this.#failures === 0 && this.#nextSend < now;
  }

  /**
   * Whether one more delivery may begin. One that does is at work until `leave`.
   * @param room whether there is some for one that tries a host that is not proven, and for one that waits for such a host
   * @param isFirst whether it is the first one of those that wait
   */
  admit(now: number, room: TrialRoom, isFirst = false): Admission {
    const { maxDeliveriesPerHost } = this.#limits;
    if (now < this.#restsUntil) return { offMs: this.#restsUntil - now + this.#reserve(now) };
    const { isProven } = this;
    if (this.#working < Math.min(this.#window, maxDeliveriesPerHost) && (isProven || room.canTry)) {
      this.#working++;
      this.#tryingSince ??= now;
      return "go";
    }
    const mayWait =
      (isProven || (room.canWait && this.#working > 0)) && (isFirst || this.waiting.length < mostWaiting(this.#limits));
    return mayWait ? "wait" : { offMs: isProven ? this.#reserve(now) : this.#nextTry(now) };
  }

  /** Takes out what waits here. @returns whether it waited */
  unqueue(delivery: T): boolean {
    const index = this.waiting.indexOf(delivery);
    if (index >= 0) this.waiting.splice(index, 1);
    return index >= 0;
  }

  /** A delivery at work has ended. */
  leave(): void {
    this.#working--;
  }

  /** How long the next notification has to wait so that the host does not get more in a second than it may. */
  pace(now: number): number {
    const gapMs = 1_000 / this.#limits.maxDeliveriesPerHostPerSecond;
    // A tenth of what comes in a second may come at once.
    const begin = Math.max(this.#nextSend, now - 100);
    this.#nextSend = begin + gapMs;
    return Math.max(0, begin - now);
  }

  /** It took a notification, within so many milliseconds. */
  succeeded(ms: number): void {
    this.#answerMs += (ms - this.#answerMs) * (this.#answerMs === 0 ? 1 : SAMPLE_SHARE);
    this.#tryingSince = undefined;
    if (this.#window < this.#limits.maxDeliveriesPerHost || this.#window === 1) this.#window *= 2;
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#failingSince = undefined;
    this.#restMs = 0;
    this.#restsUntil = 0;
    this.#reservedUntil = 0;
  }

  /** It could not be reached, did not answer in time, or said that it is overloaded. @returns true when that opens the circuit */
  failed(now: number): boolean {
    this.#window = 1;
    // Several that were at work fail together, which is no reason to rest longer.
    if (now < this.#restsUntil) return false;
    this.#failingSince ??= now;
    this.#failures++;
    if (this.#failures < hostRest.failures) return false;
    this.#restMs = Math.min(hostRest.maxMs, this.#restMs === 0 ? pushRetry.firstMs : this.#restMs * 2);
    this.#restsUntil = now + this.#restMs;
    return this.#failures === hostRest.failures;
  }

  /** A time for one that is put off because the host is only being tried: later the longer it takes, and not all at once. */
  #nextTry(now: number): number {
    const triedMs = now - (this.#tryingSince ?? now);
    return Math.max(pushRetry.firstMs, triedMs) * (0.5 + Math.random());
  }

  /** A time for one that is put off, such that all of them come back as fast as the host can take them. */
  #reserve(now: number): number {
    const { maxDeliveriesPerHost, maxDeliveriesPerHostPerSecond } = this.#limits;
    const gapMs = Math.max(1_000 / maxDeliveriesPerHostPerSecond, this.#answerMs / maxDeliveriesPerHost);
    this.#reservedUntil = Math.max(this.#reservedUntil, now + LEAST_OFF_MS) + gapMs;
    return this.#reservedUntil - now;
  }
}

/** Hosts that are remembered; of more, those that have failed the longest ago are forgotten first. */
const MAX_HOSTS = 10_000;

/** The hosts that receive notifications, as far as there is something to remember of them. */
export class Hosts<T> {
  readonly #limits: HostLimits;
  readonly #hosts = new Map<string, Host<T>>();

  constructor(limits: HostLimits) {
    this.#limits = limits;
  }

  /** A host by its key. */
  get(key: string, now: number): Host<T> {
    const known = this.#hosts.get(key);
    if (known !== undefined) return known;
    if (this.#hosts.size >= MAX_HOSTS) this.#forget(now);
    const host = new Host<T>(key, this.#limits);
    this.#hosts.set(key, host);
    return host;
  }

  /** How many more may be claimed for each that is busy, and for each of the others. */
  rooms(): { readonly of: ReadonlyMap<string, number>; readonly others: number } {
    const of = new Map<string, number>();
    for (const [key, { room }] of this.#hosts) if (room !== undefined) of.set(key, room);
    return { of, others: this.#limits.maxDeliveriesPerHost + mostWaiting(this.#limits) };
  }

  /** All of which something is known. */
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

/** The share of all places that deliveries to hosts may have that are not proven. */
const SHARE = 2;

/** The share of those that one owner may have, where owners have names. */
const SHARE_OF_OWNER = 4;

/**
 * Counts the deliveries to hosts that have taken nothing yet. They have a part of the places, and each owner a part of that: hosts that
 * stall keep notifications neither from those that do not, nor from new ones of other owners.
 */
export class Trials {
  readonly #max: number;
  readonly #maxOfOwner: number;
  readonly #byOwner = new Map<string, number>();
  #count = 0;

  /** @param places deliveries at once */
  constructor(places: number) {
    this.#max = Math.max(1, Math.floor(places / SHARE));
    this.#maxOfOwner = Math.max(1, Math.floor(this.#max / SHARE_OF_OWNER));
  }

  /** Whether there is room for one more of this owner; callers without a name are not told apart. */
  hasRoom(owner: string): boolean {
    if (this.#count >= this.#max) return false;
    return owner === "" || (this.#byOwner.get(owner) ?? 0) < this.#maxOfOwner;
  }

  /** Notes one. @returns ends it, once */
  begin(owner: string): () => void {
    this.#count++;
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count--;
      const left = (this.#byOwner.get(owner) ?? 1) - 1;
      if (left > 0) this.#byOwner.set(owner, left);
      else this.#byOwner.delete(owner);
    };
  }
}
