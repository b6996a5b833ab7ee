import { describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Reason } from "../../src/core/error.js";
import { metricProducer } from "../../src/telemetry/index.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { noteMetrics } from "../../src/telemetry/registry.js";

/** Attributes of the series of a metric after one call. */
async function attributesOf(
  name: string,
  { binding, method = "GetTask", code }: { binding: string; method?: string; code: "OK" | Reason },
): Promise<unknown> {
  const metrics = new Metrics({ methods: A2AService.methods, versions: ["1.0"] });
  const server = {};
  noteMetrics(server, metrics);
  metrics.callEnded({ binding, method, version: "1.0" }, code, 0.001);
  const { resourceMetrics } = await metricProducer(server).collect();
  const found = resourceMetrics.scopeMetrics[0]?.metrics.find(({ descriptor }) => descriptor.name === name);
  return found?.dataPoints.map(({ attributes }) => attributes);
}

describe("metricProducer()", () => {
  it.each([
    ["grpc", "grpc", "NOT_FOUND"],
    ["grpc-web", "grpc", "NOT_FOUND"],
    ["connect", "connectrpc", "not_found"],
    ["jsonrpc", "jsonrpc", "-32001"],
    ["rest", "http_json", "404"],
  ])("gives calls over %s the attributes of their spans", async (binding, system, status) => {
    expect(await attributesOf("rpc.server.call.duration", { binding, code: "TASK_NOT_FOUND" })).toEqual([
      {
        "rpc.system.name": system,
        "rpc.method": "lf.a2a.v1.A2AService/GetTask",
        "rpc.response.status_code": status,
        "a2a.protocol.version": "1.0",
        "parley.binding": binding,
        "parley.error.reason": "TASK_NOT_FOUND",
      },
    ]);
  });

  it("gives errors of the server alone an error type", async () => {
    expect(await attributesOf("parley.calls", { binding: "jsonrpc", code: "UNAVAILABLE" })).toMatchObject([
      { "rpc.response.status_code": "-32603", "error.type": "-32603", "a2a.protocol.version": "1.0" },
    ]);
  });

  it("gives success a code where the system has one", async () => {
    expect(await attributesOf("parley.calls", { binding: "grpc", code: "OK" })).toMatchObject([
      { "rpc.response.status_code": "OK" },
    ]);
    expect(await attributesOf("parley.calls", { binding: "rest", code: "OK" })).toEqual([
      {
        "rpc.system.name": "http_json",
        "rpc.method": "lf.a2a.v1.A2AService/GetTask",
        "a2a.protocol.version": "1.0",
        "parley.binding": "rest",
      },
    ]);
  });

  it("names no method that callers make up", async () => {
    const calls = await attributesOf("parley.calls", { binding: "rest", method: "Stranger", code: "OK" });
    expect(calls).toMatchObject([{ "rpc.method": "_OTHER" }]);
  });
});
