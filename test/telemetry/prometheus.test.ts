import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type MetricName, metricTable } from "../../src/telemetry/metric-table.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { prometheusText } from "../../src/telemetry/prometheus.js";
import { seriesIn } from "./read.js";

const create = (): Metrics => new Metrics({ methods: A2AService.methods, versions: ["1.0", "0.3"] });

/** Version of promtool, or undefined where Prometheus is not installed. */
const promtool = spawnSync("promtool", ["--version"]).status === 0;

describe("prometheusText()", () => {
  it("escapes what a label may contain", async () => {
    const metrics = create();
    metrics.gauge("buildInfo", () => [{ labels: ['a"b', "c\\d", "e\nf"], value: 1 }]);
    expect(await prometheusText(metrics)).toContain(
      'parley_build_info{version="a\\"b",node_version="c\\\\d",store="e\\nf"} 1\n',
    );
  });

  it("writes cumulative buckets, the last of which is the count", async () => {
    const metrics = create();
    for (const seconds of [0.0001, 0.003, 0.003, 100]) metrics.appendDuration.observe(seconds);
    const series = seriesIn(await prometheusText(metrics));
    expect(series.get('parley_append_duration_seconds_bucket{le="0.0005"}')).toBe(1);
    expect(series.get('parley_append_duration_seconds_bucket{le="0.005"}')).toBe(3);
    expect(series.get('parley_append_duration_seconds_bucket{le="10"}')).toBe(3);
    expect(series.get('parley_append_duration_seconds_bucket{le="+Inf"}')).toBe(4);
    expect(series.get("parley_append_duration_seconds_count")).toBe(4);
    expect(series.get("parley_append_duration_seconds_sum")).toBeCloseTo(100.0061);
  });

  it("leaves out a gauge that cannot be read", async () => {
    const metrics = create();
    metrics.gauge("storeBytes", () => Promise.reject(new Error("the disk is gone")));
    metrics.gauge("readerLag", () => 3);
    const text = await prometheusText(metrics);
    expect(text).toContain("parley_reader_lag_entries 3\n");
    expect(text).not.toContain("parley_store_bytes");
  });

  it("stays bounded when every call is another one", async () => {
    const metrics = create();
    for (let i = 0; i < 10_000; i++) {
      const call = { binding: `b${i}`, method: `m${i}`, version: `${i}` };
      metrics.callBegan(call.method);
      metrics.callEnded(call, "OK", i / 1_000);
      metrics.requestRefused(`b${i}`, `c${i}`);
      metrics.limitRefused(`limit${i}`);
    }
    const series = seriesIn(await prometheusText(metrics));
    expect(series.get('parley_calls_total{binding="other",method="other",version="other",code="OK"}')).toBe(10_000);
    expect(series.get('parley_requests_refused_total{binding="other",code="other"}')).toBe(10_000);
    expect(series.get('parley_limit_refusals_total{limit="other"}')).toBe(10_000);
    expect(series.size).toBeLessThan(300);
  });

  it("writes every series that there can be in a bounded text", async () => {
    const metrics = create();
    for (let index = 0; index < metrics.calls.sets.size; index++) metrics.calls.add(index);
    for (let index = 0; index < metrics.callDuration.sets.size; index++) metrics.callDuration.observe(1, index);
    const text = await prometheusText(metrics);
    // 6,900 sets of labels of calls, and as many of their durations with 17 lines each.
    expect(text.split("\n").length).toBeGreaterThan(100_000);
    expect(text.length).toBeLessThan(16 * 1024 * 1024);
  });

  it.runIf(promtool)("passes promtool, with every metric in it", async () => {
    const metrics = create();
    for (const [name, row] of Object.entries(metricTable)) {
      if (Object.hasOwn(metrics, name)) continue;
      const labels = (row.labels ?? []).map(() => "x");
      metrics.gauge(name as Parameters<Metrics["gauge"]>[0], () => [{ labels, value: 1.5e-7 }]);
    }
    for (const histogram of [metrics.callDuration, metrics.deliveryDuration]) histogram.observe(1);
    metrics.calls.add();
    const text = await prometheusText(metrics);
    const { status, stderr, stdout } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
    expect(stdout + stderr).toBe("");
    expect(status).toBe(0);
    const names = Object.keys(metricTable) as MetricName[];
    expect(names.filter((name) => !text.includes(`# TYPE ${metricTable[name].name} `))).toEqual([]);
  });
});
