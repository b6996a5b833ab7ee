import { isTraceParent, isTraceState } from "../../telemetry/w3c.js";
import type { ServiceInterceptor } from "../invoke.js";

/** A request id that is safe in log lines and headers: visible ASCII, at most 128 characters. */
const requestIdForm = /^[\x21-\x7e]{1,128}$/;

/** Adopts the client's request id, if it is valid, and the trace of the call. */
export const trace: ServiceInterceptor = (next) => (invocation) => {
  const { call } = invocation;
  const requestId = call.header("x-request-id");
  if (requestId !== undefined && requestIdForm.test(requestId)) {
    call.requestId = requestId;
    call.responseHeaders.set("x-request-id", requestId);
  }
  const traceParent = call.header("traceparent");
  if (traceParent !== undefined && isTraceParent(traceParent)) {
    call.traceParent = traceParent;
    const traceState = call.header("tracestate");
    if (traceState !== undefined && isTraceState(traceState)) call.traceState = traceState;
  }
  return next(invocation);
};
