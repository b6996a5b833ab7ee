/**
 * A server with the SDK of OpenTelemetry, registered before it starts. The SDK keeps 10 % of the traces and sends them by OTLP over
 * HTTP. Arguments: the port of the receiver, the name of the server, and those of that server.
 */
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";

const SAMPLED = 0.1;

const [port, name] = process.argv.splice(2, 2);
const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });

// The SDK for Node.js registers the same parts by default.
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(
  new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
);
trace.setGlobalTracerProvider(
  new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(SAMPLED) }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  }),
);

await import(`./${name}.js`);
