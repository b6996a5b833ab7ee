import { background } from "../core/async.js";
import { addToCount } from "../core/maps.js";
import type { SignalMember, Topic } from "./signals.js";
import { canHash, readUsage, sharedUsage, type UsageList, UsageNames, UsagePace, usageList, usageOf } from "./usage.js";

/** Maximum numbers of callers of this process, and of other processes, whose counts are kept. */
const MOST_OWN = 4_096;
const MOST_PROCESSES = 1_000;

interface SharedCountOptions<T> {
  /** Undefined if nothing is shared. */
  readonly signals: SignalMember | undefined;
  /** Unique among those of the process. */
  readonly topic: string;
  /** Limit of one caller. */
  readonly max: number;
  readonly countOf: (caller: T) => number;
  /** Called when the counts in other processes may have changed. */
  readonly changed?: () => void;
}

interface Others {
  readonly counts: ReadonlyMap<string, number>;
  /** By `performance.now()`. */
  readonly until: number;
}

/**
 * Counts what callers have open, such as streams, over all processes. Each process broadcasts its own counts and
 * repeats them every second, so the effect of a lost message ends then. Counts of a process that has ended expire.
 */
export class SharedCount<T> {
  /** A caller with a count up to this one is not broadcast. */
  readonly publishAbove: number;
  readonly #options: SharedCountOptions<T>;
  readonly #signals: SignalMember | undefined;
  readonly #names: UsageNames;
  readonly #topic: Topic<UsageList>;
  readonly #pace = new UsagePace();
  /** Callers of this process whose counts are broadcast. */
  #own = new Map<string, T>();
  #timer: NodeJS.Timeout | undefined;
  #lastList = "";
  #lastAt = 0;
  readonly #others = new Map<string, Others>();
  /** Sums of the counts in other processes, by hashed name. */
  readonly #sums = new Map<string, number>();
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: SharedCountOptions<T>) {
    const { signals, topic, max } = options;
    this.#options = options;
    this.#signals = canHash() ? signals : undefined;
    this.publishAbove =
      this.#signals === undefined ? Number.POSITIVE_INFINITY : Math.floor(max / sharedUsage.publishDivisor);
    this.#names = new UsageNames(topic);
    this.#topic = { name: `open.${topic}`, read: readUsage };
    this.#signals?.subscribe(this.#topic, (list, process) => this.#hear(usageOf(list), process));
  }

  /** True if no other process has broadcast a caller. `elsewhere` is then 0 for all. */
  get isAlone(): boolean {
    return this.#sums.size === 0;
  }

  /** The caller's count in other processes. */
  elsewhere(key: string): number {
    return this.#sums.size === 0 ? 0 : (this.#sums.get(this.#names.of(key)) ?? 0);
  }

  /** Broadcasts a caller while its count exceeds `publishAbove`. Call it whenever the count has increased. */
  publish(key: string, caller: T): void {
    if (this.#signals === undefined || this.#own.has(key) || this.#own.size >= MOST_OWN) return;
    this.#own.set(key, caller);
    this.#timer ??= background(setTimeout(this.#publish, this.#pace.periodMs));
  }

  readonly #publish = (): void => {
    const { countOf } = this.#options;
    this.#own = new Map([...this.#own].filter(([, caller]) => countOf(caller) > this.publishAbove));
    const list = usageList([...this.#own].map(([key, caller]) => [this.#names.of(key), countOf(caller)]));
    const text = list.join();
    const now = performance.now();
    if (text !== this.#lastList || now - this.#lastAt >= sharedUsage.repeatMs) {
      this.#lastList = text;
      this.#lastAt = now;
      this.#signals?.publish(this.#topic, list);
    }
    this.#timer = this.#own.size > 0 ? background(setTimeout(this.#publish, this.#pace.periodMs)) : undefined;
  };

  #hear(counts: ReadonlyMap<string, number>, process: string): void {
    this.#pace.heard(process);
    if (!this.#others.has(process) && this.#others.size >= MOST_PROCESSES) return;
    this.#forget(process);
    if (counts.size > 0) {
      for (const [name, count] of counts) addToCount(this.#sums, name, count);
      this.#others.set(process, { counts, until: performance.now() + sharedUsage.expiryMs });
      this.#sweeper ??= background(setTimeout(this.#sweep, sharedUsage.repeatMs));
    }
    this.#options.changed?.();
  }

  #forget(process: string): void {
    for (const [name, count] of this.#others.get(process)?.counts ?? []) addToCount(this.#sums, name, -count);
    this.#others.delete(process);
  }

  /** Drops the counts of processes that are silent. */
  readonly #sweep = (): void => {
    const now = performance.now();
    const silent = [...this.#others].filter(([, { until }]) => until <= now);
    for (const [process] of silent) this.#forget(process);
    this.#sweeper = this.#others.size > 0 ? background(setTimeout(this.#sweep, sharedUsage.repeatMs)) : undefined;
    if (silent.length > 0) this.#options.changed?.();
  };
}
