import type { Observations, Series } from "./cells.js";
import type { MetricFamily } from "./metrics.js";

type Join = (one: number, other: number) => number;

const joins: Readonly<Record<"sum" | "max" | "min", Join>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
};

/** Returns the metrics of several processes of one server as those of the server. */
export function summed(processes: readonly (readonly MetricFamily[])[]): MetricFamily[] {
  const all = new Map<string, MetricFamily>();
  for (const family of processes.flat()) {
    const { name } = family.row;
    const before = all.get(name);
    all.set(name, before === undefined ? family : mergeFamilies(before, family));
  }
  return [...all.values()];
}

/** Returns the counters and histograms of a process that has ended, without its gauges. */
export function countsOf(families: readonly MetricFamily[]): MetricFamily[] {
  return families.filter(({ row }) => row.kind !== "gauge");
}

function mergeFamilies(one: MetricFamily, other: MetricFamily): MetricFamily {
  const join = joins[one.row.across ?? "sum"];
  return {
    ...one,
    since: Math.min(one.since, other.since),
    numbers: bySeries(one.numbers, other.numbers, join),
    histograms: bySeries(one.histograms, other.histograms, joinedObservations),
  };
}

function bySeries<V>(
  some: readonly Series<V>[],
  others: readonly Series<V>[],
  join: (one: V, other: V) => V,
): Series<V>[] {
  const series = new Map(some.map((each) => [JSON.stringify(each.labels), each]));
  for (const each of others) {
    const key = JSON.stringify(each.labels);
    const before = series.get(key);
    series.set(key, before === undefined ? each : { labels: each.labels, value: join(before.value, each.value) });
  }
  return [...series.values()];
}

function joinedObservations(one: Observations, other: Observations): Observations {
  return {
    counts: one.counts.map((count, index) => count + (other.counts[index] ?? 0)),
    sum: one.sum + other.sum,
    count: one.count + other.count,
  };
}
