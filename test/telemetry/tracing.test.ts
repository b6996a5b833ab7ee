import {
  type Attributes,
  createNoopMeter,
  metrics,
  propagation,
  type Span,
  type SpanOptions,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { afterEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../src/core/log.js";
import { createServer, type Server, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { usesApi } from "../../src/telemetry/choice.js";
import { openTelemetryApi } from "../../src/telemetry/load.js";
import { Tracing } from "../../src/telemetry/tracing.js";
import { obedient } from "../conformance/agents.js";
import { say } from "../limits/world.js";

let server: Server | undefined;
afterEach(async () => {
  trace.disable();
  metrics.disable();
  propagation.disable();
  await server?.close({ graceMs: 0 });
  server = undefined;
});

async function serve(options: Partial<ServerOptions>): Promise<() => Promise<void>> {
  const own = await createServer({
    agent: obedient("traced"),
    store: memoryStore(),
    port: 0,
    grpcPort: false,
    ...options,
  });
  server = own;
  return async () => {
    const headers = { "content-type": "application/json" };
    const sent = await fetch(`${own.url}/message:send`, { method: "POST", headers, body: JSON.stringify(say("echo")) });
    expect(sent.status).toBe(200);
  };
}

/**
 * Registers a tracer provider, as an SDK does. @returns the names of the spans that it begins
 *
 * @param noted takes the attributes by which a sampler may decide
 */
function registerSdk({ isSampled, noted = [] }: { isSampled: boolean; noted?: Attributes[] }): string[] {
  const names: string[] = [];
  const startSpan = (name: string, { attributes = {} }: SpanOptions): Span => {
    names.push(name);
    noted.push(attributes);
    const traceFlags = isSampled ? 1 : 0;
    const span = trace.wrapSpanContext({ traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags });
    return Object.assign(span, { isRecording: () => isSampled });
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as unknown as Tracer });
  return names;
}

describe("a server with `telemetry: true`", () => {
  it("begins spans once an SDK has registered", async () => {
    const call = await serve({ telemetry: true });
    await call();
    const names = registerSdk({ isSampled: true });
    await call();
    expect(names).toEqual(["SendMessage", "turn traced"]);
  });

  it("begins one span for a call that is not sampled, with its method alone", async () => {
    const call = await serve({ telemetry: true });
    const noted: Attributes[] = [];
    const names = registerSdk({ isSampled: false, noted });
    await call();
    expect(names).toEqual(["SendMessage"]);
    expect(noted).toEqual([{ "rpc.method": "lf.a2a.v1.A2AService/SendMessage" }]);
  });
});

describe("a server without the option `telemetry`", () => {
  const meter = { getMeter: () => createNoopMeter() };

  it.each([
    ["spans", () => registerSdk({ isSampled: true })],
    ["metrics", () => metrics.setGlobalMeterProvider(meter)],
  ] as const)("uses an SDK for %s", (_, register) => {
    expect(usesApi(undefined)).toBe(false);
    register();
    expect(usesApi(undefined)).toBe(true);
  });
});

describe("Tracing.tracer", () => {
  const tracing = async (telemetry: NonNullable<ServerOptions["telemetry"]>): Promise<Tracing> => {
    const made = new Tracing({ telemetry, load: openTelemetryApi, logger: silentLogger });
    await made.start();
    return made;
  };

  it("is undefined while no SDK is registered", async () => {
    const { tracer, api } = await tracing(true);
    expect({ tracer, hasApi: api !== undefined }).toEqual({ tracer: undefined, hasApi: true });
  });

  it("is defined for a propagator without a tracer provider", async () => {
    const made = await tracing(true);
    propagation.setGlobalPropagator({ inject() {}, extract: (context) => context, fields: () => [] });
    expect(made.tracer).toBeDefined();
  });

  it("is always defined for an API that was given", async () => {
    expect((await tracing(await openTelemetryApi())).tracer).toBeDefined();
  });
});
