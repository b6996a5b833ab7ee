import { create } from "@bufbuild/protobuf";
import * as api from "@opentelemetry/api";
import { afterEach, describe, expect, it } from "vitest";
import { MessageSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { TurnRequest } from "../../src/agent/turn-request.js";
import { beginTurnSpan } from "../../src/agent/turn-span.js";
import { type TracedSpan, Tracer } from "../../src/telemetry/tracer.js";

const { trace } = api;

afterEach(() => trace.disable());

/** Registers a tracer provider whose spans, as those of the SDK, record until they end. @returns the names of its spans */
function registerSdk(traceFlags: number): string[] {
  const names: string[] = [];
  const startSpan = (name: string): api.Span => {
    names.push(name);
    const span = trace.wrapSpanContext({ traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags });
    let isOpen = true;
    const end = (): void => {
      isOpen = false;
    };
    return Object.assign(span, { end, isRecording: () => isOpen && traceFlags === 1 });
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as unknown as api.Tracer });
  return names;
}

const request = (span: TracedSpan): TurnRequest =>
  ({
    span,
    message: create(MessageSchema),
    taskId: "t",
    tenant: "",
    position: 1,
    attempt: 1,
  }) as unknown as TurnRequest;

describe("a call that ended a moment ago", () => {
  it("has a span of its turn if it is sampled", () => {
    const names = registerSdk(1);
    const tracer = new Tracer(api);
    const call = tracer.begin("call", {});
    call.end();
    const turn = beginTurnSpan(tracer, { name: "a" }, request(call));
    turn.end();
    turn.child("step");
    expect(names).toEqual(["call", "turn a", "step"]);
  });

  it("shares its span with the turn if it is not sampled", () => {
    const names = registerSdk(0);
    const tracer = new Tracer(api);
    const call = tracer.begin("call", {});
    call.end();
    expect(beginTurnSpan(tracer, { name: "a" }, request(call))).toBe(call);
    expect(names).toEqual(["call"]);
  });
});
