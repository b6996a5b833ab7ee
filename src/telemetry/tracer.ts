import type { ApiSpan, Attributes, AttributeValue, OpenTelemetryApi, TraceContext } from "./api.js";
import { rpc, SAMPLED, SCOPE, STATUS_ERROR, spanKinds } from "./names.js";
import { spanContextOf, type TraceHeaders, traceParentOf } from "./w3c.js";

/** Maximum age of an event, and of a call's end, whose consequences are child spans. Later work is linked (ms). */
const CHILD_MS = { event: 60_000, call: 1_000 } as const;

/** Kind, attributes and cause of a new span. */
interface SpanOptions {
  /** Default: internal. */
  readonly kind?: keyof typeof spanKinds;
  readonly attributes?: Attributes;
  /** Context of the parent. Default: none, a new trace. */
  readonly parent?: TraceContext | undefined;
  /** Context of a span that caused this one earlier. */
  readonly link?: TraceContext | undefined;
}

/** Reads a header by its lower-case name. */
type HeaderReader = (name: string) => string | null | undefined;

const reader = {
  keys: () => [],
  get: (header: HeaderReader, name: string) => header(name.toLowerCase()) ?? undefined,
};

/** Sets a header. */
type HeaderWriter = (name: string, value: string) => void;

const writer = { set: (write: HeaderWriter, name: string, value: string) => write(name.toLowerCase(), value) };

/** Creates spans by the API of OpenTelemetry. */
export class Tracer {
  readonly api: OpenTelemetryApi;
  readonly #tracer: ReturnType<OpenTelemetryApi["trace"]["getTracer"]>;

  constructor(api: OpenTelemetryApi) {
    this.api = api;
    this.#tracer = api.trace.getTracer(SCOPE);
  }

  /**
   * Begins a span. Work inside a span that this process does not sample gets no span of its own, and carries the
   * identity of that span.
   */
  begin(name: string, { kind = "internal", attributes = {}, parent, link }: SpanOptions): TracedSpan {
    const { trace, ROOT_CONTEXT } = this.api;
    const context = parent ?? ROOT_CONTEXT;
    const whole = trace.getSpan(context);
    if (whole !== undefined && isDropped(whole)) return new TracedSpan(this, whole, context);
    const linked = link && trace.getSpan(link)?.spanContext();
    const links = linked === undefined ? [] : [{ context: linked }];
    const span = this.#tracer.startSpan(name, { kind: spanKinds[kind], attributes, links }, context);
    return new TracedSpan(this, span, trace.setSpan(context, span));
  }

  /** Begins a span of work that an event caused: its child, or linked with it if the event is older than a minute. */
  beginAfter(event: TraceHeaders, ageMs: number, name: string, options: Omit<SpanOptions, "parent">): TracedSpan {
    const cause = this.remote(event);
    return this.begin(name, ageMs <= CHILD_MS.event ? { ...options, parent: cause } : { ...options, link: cause });
  }

  /** Context of the code that runs, if it has a span. */
  get active(): TraceContext | undefined {
    const context = this.api.context.active();
    return this.api.trace.getSpan(context) === undefined ? undefined : context;
  }

  /**
   * Context of an incoming call. An instrumentation of HTTP may have begun a span for it already, which then belongs to
   * the trace in the headers; a span of another trace is not the call's.
   */
  incoming(header: HeaderReader): TraceContext {
    const { trace, propagation, ROOT_CONTEXT } = this.api;
    const { active } = this;
    const asked = propagation.extract(ROOT_CONTEXT, header, reader);
    if (active === undefined) return asked;
    const sent = trace.getSpan(asked)?.spanContext().traceId;
    return sent === undefined || sent === trace.getSpan(active)?.spanContext().traceId ? active : asked;
  }

  /** Context of a remote span; undefined if the headers name none. */
  remote({ traceParent, traceState }: TraceHeaders): TraceContext | undefined {
    const { trace, ROOT_CONTEXT, createTraceState } = this.api;
    const span = spanContextOf(traceParent);
    if (span === undefined) return undefined;
    const state = traceState === "" ? {} : { traceState: createTraceState(traceState) };
    return trace.setSpanContext(ROOT_CONTEXT, { ...span, ...state });
  }

  /** Writes the headers that carry a context, as the process is configured: `traceparent` and others. */
  inject(context: TraceContext, write: HeaderWriter): void {
    this.api.propagation.inject(context, write, writer);
  }
}

/** A span and its context. */
export class TracedSpan implements TraceHeaders {
  /** The context of work that the span causes. */
  readonly context: TraceContext;
  readonly tracer: Tracer;
  readonly #span: ApiSpan;
  #traceParent: string | undefined;
  #endedAt: number | undefined;

  constructor(tracer: Tracer, span: ApiSpan, context: TraceContext) {
    this.tracer = tracer;
    this.#span = span;
    this.context = context;
  }

  /** True if this process samples neither the span nor its children. */
  get isDropped(): boolean {
    return isDropped(this.#span);
  }

  /** False if the span is not sampled, or has ended: attributes are of no use. */
  get isRecording(): boolean {
    return this.#span.isRecording();
  }

  /** Empty if no SDK gives spans an identity. */
  get traceParent(): string {
    this.#traceParent ??= traceParentOf(this.#span.spanContext());
    return this.#traceParent;
  }

  get traceState(): string {
    return this.#span.spanContext().traceState?.serialize() ?? "";
  }

  get hasEnded(): boolean {
    return this.#endedAt !== undefined;
  }

  /** True once it has ended so long ago that what begins now is only linked with it. */
  get isPast(): boolean {
    return this.#endedAt !== undefined && performance.now() - this.#endedAt > CHILD_MS.call;
  }

  /** Runs code in the span's context, so that spans which it begins are children. */
  run<T>(code: () => T): T {
    const { context } = this.tracer.api;
    return context.active() === this.context ? code() : context.with(this.context, code);
  }

  /** Sets an attribute, unless its value is undefined or empty. */
  set(key: string, value: AttributeValue | undefined): void {
    if (value !== undefined && value !== "") this.#span.setAttribute(key, value);
  }

  setAll(attributes: Attributes): void {
    for (const key in attributes) this.set(key, attributes[key]);
  }

  /**
   * Marks the span as failed.
   * @param type a class of errors, never the text of one
   */
  fail(type: string): void {
    this.set(rpc.errorType, type);
    this.#span.setStatus({ code: STATUS_ERROR });
  }

  /** Begins a span of a part of this one's work: a child of the innermost span that the code runs in. */
  child(name: string, options: Omit<SpanOptions, "parent" | "link"> = {}): TracedSpan {
    return this.tracer.begin(name, { ...options, parent: this.tracer.active ?? this.context });
  }

  /** Ends the span. Further calls do nothing. */
  end(): void {
    if (this.#endedAt !== undefined) return;
    this.#endedAt = performance.now();
    this.#span.end();
  }
}

/** Tells whether a sampler of this process has dropped a span. One that has ended records no more, but may be sampled. */
function isDropped(span: ApiSpan): boolean {
  if (span.isRecording()) return false;
  const { traceFlags, isRemote } = span.spanContext();
  return isRemote !== true && (traceFlags & SAMPLED) === 0;
}

/** Returns an iterable whose code runs in the context of a span, from whichever context it is read. */
export function iteratedIn<T, R>(
  span: TracedSpan,
  source: { [Symbol.asyncIterator](): AsyncIterator<T, R> },
): { [Symbol.asyncIterator](): AsyncIterator<T, R> } {
  return {
    [Symbol.asyncIterator]: () =>
      new TracedIterator(
        span,
        span.run(() => source[Symbol.asyncIterator]()),
      ),
  };
}

/** An iterator whose code runs in the context of a span. */
export class TracedIterator<T, R = unknown> implements AsyncIterator<T, R> {
  readonly #span: TracedSpan;
  readonly #source: AsyncIterator<T, R>;

  constructor(span: TracedSpan, source: AsyncIterator<T, R>) {
    this.#span = span;
    this.#source = source;
  }

  next(): Promise<IteratorResult<T, R>> {
    return this.#span.run(() => this.#source.next());
  }

  return(value?: R): Promise<IteratorResult<T, R>> {
    const done = (): Promise<IteratorResult<T, R>> => Promise.resolve({ done: true, value: value as R });
    return this.#span.run(() => this.#source.return?.(value) ?? done());
  }
}
