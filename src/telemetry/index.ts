// Metrics of a server, for programs that embed it: `metricProducer` for OpenTelemetry, `metricsText` for Prometheus.

export { metricProducer, type ServerMetricProducer } from "./producer.js";
export { metricsText, PROMETHEUS_TYPE } from "./prometheus.js";
