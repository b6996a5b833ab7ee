import { evictOldest } from "../core/maps.js";

/** Constants of the broadcasts about the usage of limits that hold over all processes. */
export const sharedUsage = {
  /** Time for which usage is collected before it is broadcast, in milliseconds. */
  periodMs: 100,
  /**
   * Added to `periodMs` for each known process beyond ten, so that no process receives more than 100 messages a second.
   */
  periodPerProcessMs: 10,
  /** Longest `periodMs`. */
  maxPeriodMs: 1_000,
  /** Maximum number of callers in one message. Those that use most come first. */
  maxNames: 256,
  /** Divisor of a limit. A process does not broadcast a caller whose usage is below that part of its limit. */
  publishDivisor: 64,
  /** Interval at which counts are repeated, in milliseconds. */
  repeatMs: 1_000,
  /** Time after which the counts of a silent process are dropped, in milliseconds. They are checked once a second. */
  expiryMs: 3_000,
} as const;

/** Characters of a hash of a name: 72 bits, so that a name with the hash of another cannot be found. */
const HASH_LENGTH = 12;

/** Maximum number of names that are remembered with their hashes. */
const MOST_NAMES = 32_768;

/** Largest number in a message. */
const MOST = 1_000_000;

/** Returns true if this runtime can hash names synchronously. Otherwise usage is not broadcast. */
export function canHash(): boolean {
  return globalThis.process?.getBuiltinModule?.("node:crypto") !== undefined;
}

/** Hashes names of callers for broadcasts, because a name may be private. */
export class UsageNames {
  readonly #topic: string;
  #young = new Map<string, string>();
  #old = new Map<string, string>();

  /** @param topic part of the hash, so that a caller has a different hash in each topic */
  constructor(topic: string) {
    this.#topic = topic;
  }

  of(key: string): string {
    return this.#young.get(key) ?? this.#remember(key);
  }

  #remember(key: string): string {
    const name = this.#old.get(key) ?? this.#hash(key);
    if (this.#young.size >= MOST_NAMES / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, name);
    return name;
  }

  #hash(key: string): string {
    const { createHash } = process.getBuiltinModule("node:crypto");
    return createHash("sha256").update(`${this.#topic}\0${key}`).digest("base64url").slice(0, HASH_LENGTH);
  }
}

/** Names and numbers of a message, one after the other. */
export type UsageList = readonly (string | number)[];

/** Returns the largest numbers by name in the form of a message. */
export function usageList(numbers: [name: string, number: number][]): UsageList {
  const { maxNames } = sharedUsage;
  const largest = numbers.length > maxNames ? numbers.sort(([, a], [, b]) => b - a).slice(0, maxNames) : numbers;
  return largest.flatMap(([name, number]) => [name, Math.min(number, MOST)]);
}

/** Reads a message that any program may have sent. */
export function readUsage(value: unknown): UsageList | undefined {
  if (!Array.isArray(value) || value.length > 2 * sharedUsage.maxNames || value.length % 2 === 1) return undefined;
  const isRight = value.every((item: unknown, at) => {
    if (at % 2 === 0) return typeof item === "string" && item.length === HASH_LENGTH;
    return Number.isSafeInteger(item) && (item as number) >= 1 && (item as number) <= MOST;
  });
  return isRight ? (value as UsageList) : undefined;
}

/** Returns the numbers of a message by name. */
export function usageOf(list: UsageList): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (let at = 0; at < list.length; at += 2) numbers.set(list[at] as string, list[at + 1] as number);
  return numbers;
}

/** Maximum number of processes that are remembered. */
const MOST_PROCESSES = 1_000;

/** Time after which a silent process no longer counts for the period, in milliseconds. */
const SILENT_MS = 10_000;

/** The processes that have recently broadcast usage. */
export class UsagePace {
  /** Time at which each was last heard, the longest silent one first. */
  readonly #heard = new Map<string, number>();

  heard(process: string): void {
    this.#heard.delete(process);
    evictOldest(this.#heard, MOST_PROCESSES);
    this.#heard.set(process, performance.now());
  }

  /** Time until the next message of this process, in milliseconds. */
  get periodMs(): number {
    const before = performance.now() - SILENT_MS;
    for (const [process, at] of this.#heard) {
      if (at > before) break;
      this.#heard.delete(process);
    }
    const { periodMs, periodPerProcessMs, maxPeriodMs } = sharedUsage;
    return Math.min(maxPeriodMs, periodMs + periodPerProcessMs * Math.max(0, this.#heard.size + 1 - 10));
  }
}
