import type { Metrics } from "./metrics.js";

const known = new WeakMap<object, Metrics>();

/** Notes the metrics of a server or handler, for `metricProducer` and `metricsText`. */
export function noteMetrics(of: object, metrics: Metrics | undefined): void {
  if (metrics !== undefined) known.set(of, metrics);
}

/** Returns the metrics of a server or handler. @throws TypeError if it has none */
export function metricsOf(of: object): Metrics {
  const metrics = known.get(of);
  if (metrics === undefined) throw new TypeError("The server was not created with the option `metrics`.");
  return metrics;
}
