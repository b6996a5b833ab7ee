import { background } from "../core/async.js";
import { type Rate, RateLimiter } from "./rate-limiter.js";
import type { SignalMember, Topic } from "./signals.js";
import { canHash, readUsage, sharedUsage, type UsageList, UsageNames, UsagePace, usageList, usageOf } from "./usage.js";

/** Maximum number of keys whose events wait to be broadcast. Events of further keys are not broadcast. */
const MOST_WAITING = 10_000;

/** Number of periods after which the process drops the events of keys with few events. */
const KEPT_PERIODS = 10;

/**
 * A rate that holds over all processes. Each process broadcasts the events that it has counted, and counts those of the
 * others. A lost message admits as many additional events as it contained. Without signals the rate holds for this
 * process alone.
 */
export class SharedRate {
  readonly #rate: RateLimiter;
  readonly #broadcaster: UsageBroadcaster | undefined;

  /** @param topic unique among those of the process */
  constructor(rate: Rate, signals: SignalMember | undefined, topic: string) {
    const limiter = new RateLimiter(rate);
    this.#rate = limiter;
    if (signals === undefined || !canHash()) return;
    this.#broadcaster = new UsageBroadcaster(signals, topic, rate.burst);
    this.#broadcaster.onHeard((name, events) => limiter.chargeElsewhere(name, events));
  }

  get isEmpty(): boolean {
    return this.#rate.isEmpty;
  }

  waitMs(key: string): number {
    return this.#rate.waitMs(this.#nameOf(key));
  }

  charge(key: string): void {
    const name = this.#nameOf(key);
    this.#rate.charge(name);
    this.#broadcaster?.add(name);
  }

  take(key: string): number {
    const name = this.#nameOf(key);
    const waitMs = this.#rate.take(name);
    if (waitMs === 0) this.#broadcaster?.add(name);
    return waitMs;
  }

  #nameOf(key: string): string {
    return this.#broadcaster === undefined ? key : this.#broadcaster.names.of(key);
  }
}

/** Collects events by name and broadcasts them. */
class UsageBroadcaster {
  readonly names: UsageNames;
  readonly #signals: SignalMember;
  readonly #topic: Topic<UsageList>;
  readonly #publishAbove: number;
  readonly #pace = new UsagePace();
  #waiting = new Map<string, number>();
  #periods = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(signals: SignalMember, topic: string, burst: number) {
    this.names = new UsageNames(topic);
    this.#signals = signals;
    this.#topic = { name: `spent.${topic}`, read: readUsage };
    this.#publishAbove = Math.floor(burst / sharedUsage.publishDivisor);
  }

  onHeard(charge: (name: string, events: number) => void): void {
    this.#signals.subscribe(this.#topic, (list, process) => {
      this.#pace.heard(process);
      for (const [name, events] of usageOf(list)) charge(name, events);
    });
  }

  add(name: string): void {
    const events = this.#waiting.get(name);
    if (events === undefined && this.#waiting.size >= MOST_WAITING) return;
    this.#waiting.set(name, (events ?? 0) + 1);
    this.#timer ??= background(setTimeout(this.#publish, this.#pace.periodMs));
  }

  readonly #publish = (): void => {
    const all = [...this.#waiting];
    const list = usageList(all.filter(([, events]) => events > this.#publishAbove));
    if (list.length > 0) this.#signals.publish(this.#topic, list);
    const published = new Set(list);
    // Few events in a second are not worth a message, now or later.
    const isOver = ++this.#periods % KEPT_PERIODS === 0;
    const kept = all.filter(([name, events]) => !published.has(name) && (events > this.#publishAbove || !isOver));
    this.#waiting = new Map(kept);
    this.#timer = kept.length > 0 ? background(setTimeout(this.#publish, this.#pace.periodMs)) : undefined;
  };
}
