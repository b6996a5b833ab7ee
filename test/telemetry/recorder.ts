import { randomBytes } from "node:crypto";
import { propagation, type Span, type SpanContext, type TracerProvider, trace } from "@opentelemetry/api";
import type { ApiSpan, ApiSpanOptions, Attributes, AttributeValue, TraceContext } from "../../src/telemetry/api.js";
import { traceParentOf } from "../../src/telemetry/w3c.js";

/** A started span, with everything recorded on it. */
export class RecordedSpan implements ApiSpan {
  readonly name: string;
  readonly kind: number | undefined;
  readonly attributes: Attributes;
  /** Id of the span above it. */
  readonly parentId: string | undefined;
  status: { readonly code: number } | undefined;
  ends = 0;
  readonly #context: SpanContext;

  constructor(name: string, { kind, attributes }: ApiSpanOptions, parent: SpanContext | undefined) {
    this.name = name;
    this.kind = kind;
    this.attributes = { ...attributes };
    this.parentId = parent?.spanId;
    const traceId = parent?.traceId ?? randomBytes(16).toString("hex");
    this.#context = { traceId, spanId: randomBytes(8).toString("hex"), traceFlags: 1 };
  }

  spanContext(): SpanContext {
    return this.#context;
  }

  setAttribute(key: string, value: AttributeValue): void {
    this.attributes[key] = value;
  }

  setStatus(status: { readonly code: number }): void {
    this.status = status;
  }

  isRecording(): boolean {
    return true;
  }

  end(): void {
    this.ends++;
  }
}

/** Registers a tracer and the propagator of W3C Trace Context, as an SDK does. @returns the spans that are begun */
export function registerRecorder(): RecordedSpan[] {
  const spans: RecordedSpan[] = [];
  const startSpan = (name: string, options: ApiSpanOptions = {}, context?: TraceContext): RecordedSpan => {
    const parent = context && trace.getSpan(context as never)?.spanContext();
    const span = new RecordedSpan(name, options, parent);
    spans.push(span);
    return span;
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) } as unknown as TracerProvider);
  propagation.setGlobalPropagator({
    inject(context, carrier, setter) {
      const span: Span | undefined = trace.getSpan(context);
      if (span !== undefined) setter.set(carrier, "traceparent", traceParentOf(span.spanContext()));
    },
    extract: (context) => context,
    fields: () => ["traceparent"],
  });
  return spans;
}

/** Undoes `registerRecorder`. */
export function unregisterRecorder(): void {
  trace.disable();
  propagation.disable();
}
