import { isTraceParent, REQUEST_ID_HEADER } from "../../core/ids.js";
import { isTraceState } from "../../telemetry/w3c.js";
import type { ServiceInterceptor } from "../invoke.js";

/** Adopts the trace of the call, and adds the request id to the answer where the binding does not. */
export const trace: ServiceInterceptor = (next) => (invocation) => {
  const { call } = invocation;
  if (!call.hasOwnRequestId) call.responseHeaders.set(REQUEST_ID_HEADER, call.requestId);
  const traceParent = call.header("traceparent");
  if (traceParent !== undefined && isTraceParent(traceParent)) {
    call.traceParent = traceParent;
    const traceState = call.header("tracestate");
    if (traceState !== undefined && isTraceState(traceState)) call.traceState = traceState;
  }
  return next(invocation);
};
