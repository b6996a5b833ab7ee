import { RELEASE } from "../core/release.js";
import type { Series } from "./cells.js";
import type { MetricRow } from "./metric-table.js";
import type { MetricFamily, Metrics } from "./metrics.js";
import { SCOPE } from "./names.js";
import { otelAttributes, otelUnit } from "./otel.js";
import { metricsOf } from "./registry.js";

/** A time of OpenTelemetry: seconds since 1970, and nanoseconds. */
type HrTime = [seconds: number, nanoseconds: number];

/** Values of the enums of `@opentelemetry/sdk-metrics` and `@opentelemetry/api`, so that neither is imported. */
const HISTOGRAM = 0;
const GAUGE = 2;
const SUM = 3;
const CUMULATIVE = 1;
const DOUBLE = 1;

interface Descriptor {
  name: string;
  description: string;
  unit: string;
  valueType: typeof DOUBLE;
}

interface DataPoint<V> {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly attributes: Record<string, string>;
  readonly value: V;
}

interface HistogramValue {
  buckets: { boundaries: number[]; counts: number[] };
  sum: number;
  count: number;
}

/** One metric, as the SDK's exporters take it. */
type ProducedMetric = { readonly descriptor: Descriptor; readonly aggregationTemporality: typeof CUMULATIVE } & (
  | { readonly dataPointType: typeof SUM; readonly isMonotonic: boolean; readonly dataPoints: DataPoint<number>[] }
  | { readonly dataPointType: typeof GAUGE; readonly dataPoints: DataPoint<number>[] }
  | { readonly dataPointType: typeof HISTOGRAM; readonly dataPoints: DataPoint<HistogramValue>[] }
);

/** A resource without attributes; a reader uses that of its SDK instead. */
interface NoResource {
  readonly attributes: Record<string, never>;
  readonly schemaUrl?: string;
  merge(other: NoResource | null): NoResource;
  getRawAttributes(): [];
}

const noResource: NoResource = {
  attributes: {},
  merge: (other) => other ?? noResource,
  getRawAttributes: () => [],
};

/** Has the shape of `MetricProducer` of `@opentelemetry/sdk-metrics`. */
export interface ServerMetricProducer {
  /** Returns the present values of all metrics. `errors` is empty. */
  collect(): Promise<{
    resourceMetrics: {
      resource: NoResource;
      scopeMetrics: { scope: { name: string; version: string }; metrics: ProducedMetric[] }[];
    };
    errors: unknown[];
  }>;
}

/**
 * Returns the metrics of a server for a reader of the OpenTelemetry SDK, with whole histograms:
 * `new PeriodicExportingMetricReader({ exporter, metricProducers: [metricProducer(server)] })`. Nothing is computed
 * between two collections.
 *
 * @param server from `createServer`, `createA2A` or `createFetchA2A`
 * @throws TypeError for a server without the option `metrics`
 */
export function metricProducer(server: object): ServerMetricProducer {
  const metrics = metricsOf(server);
  metrics.noteProduced();
  return {
    collect: async () => ({
      resourceMetrics: {
        resource: noResource,
        scopeMetrics: [{ scope: { name: SCOPE, version: RELEASE }, metrics: await producedBy(metrics) }],
      },
      errors: [],
    }),
  };
}

async function producedBy(metrics: Metrics): Promise<ProducedMetric[]> {
  const endTime = hrTime(Date.now());
  return (await metrics.read()).map((family) => produced(family, endTime));
}

function produced(family: MetricFamily, endTime: HrTime): ProducedMetric {
  const { row, since, numbers, histograms, bounds } = family;
  const startTime = hrTime(since);
  const point = <V, W>({ labels, value }: Series<V>, as: (value: V) => W): DataPoint<W> => ({
    startTime,
    endTime,
    attributes: otelAttributes(family, labels),
    value: as(value),
  });
  const common = { descriptor: descriptorOf(row), aggregationTemporality: CUMULATIVE } as const;
  if (row.kind === "histogram") {
    const value = ({ counts, sum, count }: (typeof histograms)[number]["value"]): HistogramValue => ({
      buckets: { boundaries: [...bounds], counts: [...counts] },
      sum,
      count,
    });
    return { ...common, dataPointType: HISTOGRAM, dataPoints: histograms.map((series) => point(series, value)) };
  }
  const dataPoints = numbers.map((series) => point(series, (value) => value));
  if (row.kind === "counter") return { ...common, dataPointType: SUM, isMonotonic: true, dataPoints };
  return { ...common, dataPointType: GAUGE, dataPoints };
}

function descriptorOf({ otel, help, unit }: MetricRow): Descriptor {
  return { name: otel, description: help, unit: otelUnit(unit), valueType: DOUBLE };
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
