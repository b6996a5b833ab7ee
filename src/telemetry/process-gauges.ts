import type { IntervalHistogram } from "node:perf_hooks";
import type { Metrics } from "./metrics.js";

/** Resolution of the measurement of the event loop's delay, in milliseconds. */
const RESOLUTION_MS = 20;

/** Statistics of the event loop's delay that are reported, with their percentiles. */
const stats = { p50: 50, p99: 99, max: 100 } as const;

/** Registers the gauges of the process. Runtimes without `node:perf_hooks` report those that they have. */
export function watchProcess(metrics: Metrics): void {
  const { process } = globalThis;
  metrics.gauge("cpuSeconds", () => {
    const usage = process?.cpuUsage?.();
    return usage && (usage.user + usage.system) / 1e6;
  });
  metrics.gauge("memoryBytes", () => process?.memoryUsage?.rss());
  metrics.gauge("heapBytes", () => process?.memoryUsage?.().heapUsed);
  metrics.gauge("startTime", () => performance.timeOrigin / 1_000);
  // Begun by the first reading, and collected as garbage with the metrics.
  let delay: IntervalHistogram | undefined;
  metrics.gauge("eventLoopDelay", () => {
    const series = Object.entries(stats).map(([stat, percentile]) => ({
      labels: [stat],
      value: delay === undefined || delay.count === 0 ? 0 : secondsOf(delay.percentile(percentile)),
    }));
    delay ??= startedMonitor();
    // Each reading covers the time since the one before.
    delay?.reset();
    return delay === undefined ? undefined : series;
  });
}

function startedMonitor(): IntervalHistogram | undefined {
  const hooks = globalThis.process?.getBuiltinModule?.("node:perf_hooks");
  const monitor = hooks?.monitorEventLoopDelay?.({ resolution: RESOLUTION_MS });
  monitor?.enable();
  return monitor;
}

/** Converts the interval between two timers to a delay. The resolution of the timers is not part of it. */
function secondsOf(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) / 1_000;
}
