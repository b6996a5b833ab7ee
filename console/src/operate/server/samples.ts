import { samplesIn } from "./prometheus.js";

/** The metrics at one time, summed up to what the charts need: values by metric and by label. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly sums: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Labels by which a metric is summed up. Empty: into one number. Only these metrics are kept. */
const kept: Readonly<Record<string, readonly string[]>> = {
  parley_calls_total: ["binding", "version", "code"],
  parley_calls_open: ["method"],
  parley_call_duration_seconds_bucket: ["le"],
  parley_first_event_seconds_bucket: ["le"],
  parley_append_duration_seconds_bucket: ["le"],
  parley_store_commit_duration_seconds_bucket: ["le"],
  parley_store_commit_duration_seconds_count: [""],
  parley_delivery_duration_seconds_bucket: ["le"],
  parley_event_loop_delay_seconds: ["stat"],
  parley_executions_running: [""],
  parley_executions_waiting: [""],
  parley_deliveries_working: [""],
  parley_deliveries_waiting: [""],
  parley_deliveries_due: [""],
  parley_deliveries_dead: [""],
  process_resident_memory_bytes: [""],
  nodejs_heap_size_used_bytes: [""],
};

/** The key of a metric that is summed up by a label. */
export const keyOf = (name: string, by = ""): string => (by === "" ? name : `${name} ${by}`);

export function sampleOf(text: string, at: number): Sample {
  const sums = new Map<string, Map<string, number>>();
  for (const { name, labels, value } of samplesIn(text)) {
    for (const by of kept[name] ?? []) {
      const key = keyOf(name, by);
      const group = labels.get(by) ?? "";
      const values = sums.get(key) ?? new Map<string, number>();
      values.set(group, (values.get(group) ?? 0) + value);
      sums.set(key, values);
    }
  }
  return { at, sums };
}

/** A line of a chart. */
export interface Line {
  readonly name: string;
  /** One for each sample; undefined where nothing is known. */
  readonly values: readonly (number | undefined)[];
}

/** Lines of a chart that are told apart by colour. */
export const MAX_LINES = 6;

function namesOf(samples: readonly Sample[], key: string): readonly string[] {
  const last = samples.at(-1)?.sums.get(key) ?? new Map<string, number>();
  return [...last].sort(([, one], [, other]) => other - one).map(([name]) => name);
}

/** Returns what a counter grew by in a second, between the samples. A counter that has begun anew counts from 0. */
export function rates(samples: readonly Sample[], key: string): readonly Line[] {
  const active = namesOf(samples, key).filter((name) => (samples.at(-1)?.sums.get(key)?.get(name) ?? 0) > 0);
  return active.slice(0, MAX_LINES).map((name) => ({
    name,
    values: samples.map((sample, index) => {
      const before = samples[index - 1];
      return before && growth(before, sample, key, name) / ((sample.at - before.at) / 1_000);
    }),
  }));
}

function growth(before: Sample, after: Sample, key: string, name: string): number {
  const now = after.sums.get(key)?.get(name) ?? 0;
  const then = before.sums.get(key)?.get(name) ?? 0;
  return now < then ? now : now - then;
}

/** Returns a gauge as it is, one line for each value of its label. */
export function gauges(samples: readonly Sample[], key: string): readonly Line[] {
  return namesOf(samples, key)
    .slice(0, MAX_LINES)
    .map((name) => ({ name, values: samples.map(({ sums }) => sums.get(key)?.get(name)) }));
}

/** Returns one line of a gauge without labels, under a name. */
export function gauge(samples: readonly Sample[], key: string, name: string): Line {
  return { name, values: samples.map(({ sums }) => sums.get(key)?.get("")) };
}

/** Samples over which a quantile is computed: 30 seconds. */
const WINDOW = 6;

/** Quantiles of the charts. */
const quantiles = [0.5, 0.95, 0.99] as const;

/** Estimates quantiles from the buckets of a histogram, as Prometheus does. Undefined where nothing was observed. */
export function quantilesOf(samples: readonly Sample[], name: string): readonly Line[] {
  const key = keyOf(`${name}_bucket`, "le");
  return quantiles.map((quantile) => ({
    name: `p${quantile * 100}`,
    values: samples.map((sample, index) => {
      const before = samples[Math.max(0, index - WINDOW)];
      return before === undefined || before === sample ? undefined : quantileIn(before, sample, key, quantile);
    }),
  }));
}

function quantileIn(before: Sample, after: Sample, key: string, quantile: number): number | undefined {
  const bounds = [...(after.sums.get(key)?.keys() ?? [])].map(
    (le) => [le === "+Inf" ? Infinity : Number(le), le] as const,
  );
  bounds.sort(([one], [other]) => one - other);
  const counts = bounds.map(([, le]) => growth(before, after, key, le));
  const total = counts.at(-1) ?? 0;
  if (total <= 0) return undefined;
  const wanted = quantile * total;
  const index = counts.findIndex((count) => count >= wanted);
  const [upper = 0] = bounds[index] ?? [];
  const [lower = 0] = bounds[index - 1] ?? [];
  if (upper === Infinity) return lower;
  const below = counts[index - 1] ?? 0;
  const within = (counts[index] ?? 0) - below;
  return within === 0 ? upper : lower + ((upper - lower) * (wanted - below)) / within;
}
