// The part of `@opentelemetry/api` that is used, so that programs without that package compile.

import type { MetricsApi } from "./observables.js";

/** A context of OpenTelemetry. Immutable. */
export interface TraceContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): TraceContext;
  deleteValue(key: symbol): TraceContext;
}

/** W3C `tracestate`. */
interface TraceState {
  set(key: string, value: string): TraceState;
  unset(key: string): TraceState;
  get(key: string): string | undefined;
  serialize(): string;
}

/** Identity of a span. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
  readonly traceState?: TraceState;
}

/** Value of an attribute. */
export type AttributeValue = string | number | boolean | string[];

/** Attributes of a span. */
export type Attributes = Record<string, AttributeValue>;

/** A span of OpenTelemetry. */
export interface ApiSpan {
  spanContext(): SpanContext;
  setAttribute(key: string, value: AttributeValue): unknown;
  setStatus(status: { readonly code: number }): unknown;
  isRecording(): boolean;
  end(): void;
}

/** Options of a new span. */
export interface ApiSpanOptions {
  readonly kind?: number;
  readonly attributes?: Attributes;
  readonly links?: { context: SpanContext }[];
}

/** Creates spans. */
interface ApiTracer {
  startSpan(name: string, options?: ApiSpanOptions, context?: TraceContext): ApiSpan;
}

/** Reads headers. */
interface Getter<C> {
  keys(carrier: C): string[];
  get(carrier: C, key: string): string | undefined;
}

/** Writes headers. */
interface Setter<C> {
  set(carrier: C, key: string, value: string): void;
}

/** The module `@opentelemetry/api`, as far as it is used. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string, version?: string): ApiTracer;
    getSpan(context: TraceContext): ApiSpan | undefined;
    setSpan(context: TraceContext, span: ApiSpan): TraceContext;
    setSpanContext(context: TraceContext, spanContext: SpanContext): TraceContext;
    getTracerProvider(): unknown;
  };
  readonly metrics?: MetricsApi;
  readonly context: {
    active(): TraceContext;
    with<T>(context: TraceContext, run: () => T): T;
  };
  readonly propagation: {
    inject<C>(context: TraceContext, carrier: C, setter: Setter<C>): void;
    extract<C>(context: TraceContext, carrier: C, getter: Getter<C>): TraceContext;
  };
  readonly ROOT_CONTEXT: TraceContext;
  createTraceState(raw: string): TraceState;
}
