import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createServer, type Server, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { metricProducer } from "../../src/telemetry/index.js";
import { metricTable } from "../../src/telemetry/metric-table.js";
import { obedient } from "../conformance/agents.js";
import { root } from "../e2e/support/build.js";
import { attributesOf, OtlpReceiver } from "./support/otlp-receiver.js";

/* Metrics of a server in OpenTelemetry's SDK, through a producer and through the meters of the API. */

interface Collected {
  readonly resourceMetrics: {
    readonly resource: { readonly attributes: Record<string, unknown> };
    readonly scopeMetrics: readonly {
      readonly scope: { readonly name: string };
      readonly metrics: readonly {
        readonly descriptor: { readonly name: string; readonly unit: string };
        readonly dataPoints: readonly { readonly attributes: Record<string, string>; readonly value: unknown }[];
      }[];
    }[];
  };
  readonly errors: readonly unknown[];
}

const load = createRequire(join(root, "test", "interop", "telemetry", "package.json"));
const inSdk = createRequire(load.resolve("@opentelemetry/sdk-node"));
const { MeterProvider, MetricReader, PeriodicExportingMetricReader } = inSdk("@opentelemetry/sdk-metrics") as {
  readonly PeriodicExportingMetricReader: new (options: object) => object;
  readonly MetricReader: new (options?: object) => { collect(): Promise<Collected> };
  readonly MeterProvider: new (options: object) => { forceFlush(): Promise<void>; shutdown(): Promise<void> };
};
const { OTLPMetricExporter } = inSdk("@opentelemetry/exporter-metrics-otlp-http") as {
  readonly OTLPMetricExporter: new (options: object) => object;
};
const api = load("@opentelemetry/api");

class Reader extends MetricReader {
  onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

const open = (more: Partial<ServerOptions>): Promise<Server> =>
  createServer({
    agent: obedient("counted"),
    store: memoryStore(),
    port: 0,
    grpcPort: 0,
    metrics: true,
    ...more,
  } as ServerOptions);

const find = ({ resourceMetrics }: Collected, name: string) =>
  resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics).find(({ descriptor }) => descriptor.name === name);

const list = (server: Server): Promise<Response> => fetch(`${server.url}/tasks`, { headers: { "a2a-version": "1.0" } });

describe("metricProducer()", () => {
  let server: Server;
  beforeAll(async () => {
    server = await open({ telemetry: false });
  });
  afterAll(() => server.close());

  it("gives a reader of the SDK counters, gauges and whole histograms", async () => {
    await list(server);
    const reader = new Reader({ metricProducers: [metricProducer(server)] });
    const provider = new MeterProvider({ readers: [reader] });
    const collected: Collected = await reader.collect();
    expect(collected.errors).toEqual([]);
    const duration = find(collected, "rpc.server.call.duration");
    expect(duration?.descriptor.unit).toBe("s");
    expect(duration?.dataPoints).toMatchObject([
      {
        attributes: { "rpc.method": "lf.a2a.v1.A2AService/ListTasks" },
        value: { count: 1, buckets: { counts: expect.any(Array) } },
      },
    ]);
    expect(find(collected, "parley.calls")?.dataPoints).toMatchObject([{ value: 1 }]);
    expect(find(collected, "parley.executions.running")?.dataPoints).toMatchObject([{ value: 0 }]);
    await provider.shutdown();
  });

  it("has its metrics exported to a receiver of OTLP, with their units, attributes and buckets", async () => {
    const otlp = await OtlpReceiver.start();
    const exporter = new OTLPMetricExporter({ url: `${otlp.url}/v1/metrics` });
    const metricProducers = [metricProducer(server)];
    const readers = [new PeriodicExportingMetricReader({ exporter, metricProducers })];
    const provider = new MeterProvider({ readers });
    await fetch(`${server.url}/tasks/none`, { headers: { "a2a-version": "1.0" } });
    await provider.forceFlush();
    const received = (wanted: string) => otlp.metrics.find(({ name }) => name === wanted);
    const names = otlp.metrics.map(({ name }) => name);
    // Only servers that notify webhooks have the gauges of deliveries.
    const expected = Object.values(metricTable).map(({ otel }) => otel);
    expect(expected.filter((name) => !names.includes(name) && !/deliver(y|ies)/.test(name))).toEqual([]);
    const duration = received("rpc.server.call.duration");
    expect(duration).toMatchObject({ unit: "s", description: metricTable.callDuration.help });
    expect(duration?.histogram?.aggregationTemporality).toBe(2);
    const point = duration?.histogram?.dataPoints.find(({ attributes }) =>
      attributes.some(({ key }) => key === "parley.error.reason"),
    );
    expect(point && attributesOf(point)).toEqual({
      "parley.binding": "rest",
      "rpc.system.name": "http_json",
      "rpc.method": "lf.a2a.v1.A2AService/GetTask",
      "rpc.response.status_code": "404",
      "a2a.protocol.version": "1.0",
      "parley.error.reason": "TASK_NOT_FOUND",
    });
    const { bucketCounts = [], explicitBounds = [], count, sum } = point ?? {};
    expect(explicitBounds).toEqual(expect.arrayContaining([0.0005, 0.1, 10]));
    expect(bucketCounts).toHaveLength(explicitBounds.length + 1);
    expect(bucketCounts.reduce<number>((all, each) => all + Number(each), 0)).toBe(1);
    expect(Number(count)).toBe(1);
    expect(sum).toBeGreaterThan(0);
    expect(received("parley.calls")?.sum).toMatchObject({ aggregationTemporality: 2, isMonotonic: true });
    expect(received("process.memory.usage")).toMatchObject({ unit: "By", gauge: { dataPoints: [{}] } });
    await provider.shutdown();
    otlp.stop();
  });
});

describe("the meters of the API", () => {
  it.each([
    ["get counters and gauges", false],
    ["get nothing from a server with a producer", true],
  ] as const)("%s", async (_, isProduced) => {
    const reader = new Reader();
    const provider = new MeterProvider({ readers: [reader] });
    api.metrics.setGlobalMeterProvider(provider);
    const server = await open({ telemetry: api });
    if (isProduced) metricProducer(server);
    await list(server);
    const collected: Collected = await reader.collect();
    const point = isProduced ? [] : [{ value: 1 }];
    expect(find(collected, "parley.calls")?.dataPoints ?? []).toMatchObject(point);
    expect(find(collected, "rpc.server.call.duration.count")?.dataPoints ?? []).toMatchObject(point);
    expect(find(collected, "process.memory.usage")?.dataPoints ?? []).toHaveLength(point.length);
    await server.close();
    await provider.shutdown();
    api.metrics.disable();
  });
});
