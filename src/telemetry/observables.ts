import { RELEASE } from "../core/release.js";
import { metricTable } from "./metric-table.js";
import type { MetricFamily, Metrics } from "./metrics.js";
import { SCOPE } from "./names.js";
import { otelAttributes, otelUnit } from "./otel.js";

/** An observable instrument of OpenTelemetry. */
type Instrument = object;

/** Receives the values of instruments. */
interface BatchResult {
  observe(instrument: Instrument, value: number, attributes?: Record<string, string>): void;
}

interface InstrumentOptions {
  readonly description: string;
  readonly unit: string;
}

type BatchCallback = (result: BatchResult) => Promise<void>;

interface Meter {
  createObservableCounter(name: string, options: InstrumentOptions): Instrument;
  createObservableGauge(name: string, options: InstrumentOptions): Instrument;
  addBatchObservableCallback(callback: BatchCallback, instruments: Instrument[]): void;
  removeBatchObservableCallback(callback: BatchCallback, instruments: Instrument[]): void;
}

/** The part of `@opentelemetry/api` for metrics. */
export interface MetricsApi {
  getMeter(name: string, version?: string): Meter;
}

/** Instruments of one metric: one, or two for a histogram. */
interface Instruments {
  readonly value?: Instrument;
  readonly count?: Instrument;
  readonly sum?: Instrument;
}

/**
 * Reports the metrics of a server to the meter provider of OpenTelemetry, as observable counters and gauges. The API has
 * no observable histograms: of those it gets the count and the sum, and `metricProducer` has the buckets. Reports nothing
 * once a producer exists, so that nothing is counted twice.
 *
 * @returns the function that ends it
 */
export function observe(metrics: Metrics, api: MetricsApi): () => void {
  const meter = api.getMeter(SCOPE, RELEASE);
  const instruments = new Map<string, Instruments>();
  for (const { otel: name, kind, help: description, ...row } of Object.values(metricTable)) {
    const unit = otelUnit(row.unit);
    if (kind === "counter") {
      instruments.set(name, { value: meter.createObservableCounter(name, { description, unit }) });
    } else if (kind === "gauge") {
      instruments.set(name, { value: meter.createObservableGauge(name, { description, unit }) });
    } else {
      instruments.set(name, {
        count: meter.createObservableCounter(`${name}.count`, { description: `${description} Number.`, unit: "" }),
        sum: meter.createObservableCounter(`${name}.sum`, { description: `${description} Sum.`, unit }),
      });
    }
  }
  const all = [...instruments.values()].flatMap((of) => Object.values(of) as Instrument[]);
  const callback: BatchCallback = async (result) => {
    if (metrics.isProduced) return;
    for (const family of await metrics.read()) report(family, instruments.get(family.row.otel) ?? {}, result);
  };
  meter.addBatchObservableCallback(callback, all);
  return () => meter.removeBatchObservableCallback(callback, all);
}

function report(family: MetricFamily, { value: instrument, count, sum }: Instruments, result: BatchResult): void {
  const { numbers, histograms } = family;
  for (const { labels, value } of numbers) {
    if (instrument !== undefined) result.observe(instrument, value, otelAttributes(family, labels));
  }
  for (const { labels, value } of histograms) {
    const attributes = otelAttributes(family, labels);
    if (count !== undefined) result.observe(count, value.count, attributes);
    if (sum !== undefined) result.observe(sum, value.sum, attributes);
  }
}
