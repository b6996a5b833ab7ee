import type { ServiceInterceptor } from "../invoke.js";

/** A request id that is safe in log lines and headers: visible ASCII, at most 128 characters. */
const requestIdForm = /^[\x21-\x7e]{1,128}$/;

/** W3C Trace Context, version 00 and later. */
const traceParentForm = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/** Adopts the client's request id, if it is valid, and the trace of the call. */
export const trace: ServiceInterceptor = (next) => (invocation) => {
  const { call } = invocation;
  const requestId = call.header("x-request-id");
  if (requestId !== undefined && requestIdForm.test(requestId)) {
    call.requestId = requestId;
    call.responseHeaders.set("x-request-id", requestId);
  }
  const traceParent = call.header("traceparent");
  if (traceParent !== undefined && traceParentForm.test(traceParent)) call.traceParent = traceParent;
  return next(invocation);
};
