import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createServer, type Server, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { metricProducer } from "../../src/telemetry/index.js";
import { obedient } from "../conformance/agents.js";
import { root } from "../e2e/support/build.js";

/* Metrics of a server in the SDK of OpenTelemetry, by a producer and by the meters of the API. */

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
const { MeterProvider, MetricReader } = inSdk("@opentelemetry/sdk-metrics") as {
  readonly MetricReader: new (options?: object) => { collect(): Promise<Collected> };
  readonly MeterProvider: new (options: object) => { shutdown(): Promise<void> };
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
    await server.close();
    await provider.shutdown();
    api.metrics.disable();
  });
});
