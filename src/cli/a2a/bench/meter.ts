import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import type { Outcome } from "./outcome.js";

/** Latencies, in milliseconds. */
export interface Latencies {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** Longest recorded latency, in microseconds: more than a run takes. */
const MAX_US = 2 * 3_600_000_000;

/** Latencies with three significant digits (HdrHistogram, as Node.js has it). */
class Distribution {
  readonly #histogram: RecordableHistogram = createHistogram({ lowest: 1, highest: MAX_US, figures: 3 });

  record(ms: number): void {
    this.#histogram.record(Math.min(MAX_US, Math.max(1, Math.round(ms * 1_000))));
  }

  /** Undefined before the first record. */
  get latencies(): Latencies | undefined {
    if (this.#histogram.count === 0) return undefined;
    const at = (percentile: number): number => this.#histogram.percentile(percentile) / 1_000;
    return { p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: this.#histogram.max / 1_000 };
  }
}

/** Counts calls that have ended. */
export class Meter {
  readonly latency: Distribution = new Distribution();
  readonly firstEvent: Distribution = new Distribution();
  readonly errors: Map<string, number> = new Map();
  readonly #counts = { calls: 0, failed: 0, bytes: 0, events: 0 };

  /** Calls that succeeded, calls that failed, and the bytes and events of all. */
  get counts(): Readonly<Record<"calls" | "failed" | "bytes" | "events", number>> {
    return this.#counts;
  }

  /** @param begin `performance.now()` of the intended begin of the call. Latencies are those of successes only. */
  record(begin: number, { fault, bytes, events, firstAt }: Outcome): void {
    this.#counts.bytes += bytes;
    this.#counts.events += events;
    if (fault !== undefined) {
      this.#counts.failed++;
      this.errors.set(fault, (this.errors.get(fault) ?? 0) + 1);
      return;
    }
    this.#counts.calls++;
    this.latency.record(performance.now() - begin);
    if (firstAt !== undefined) this.firstEvent.record(firstAt - begin);
  }
}
