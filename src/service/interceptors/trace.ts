import { newRequestId } from "../../core/ids.js";
import type { Interceptor } from "../invoke.js";

/** What may stand in a log line and a header: visible ASCII, not endless. */
const requestIdForm = /^[\x21-\x7e]{1,128}$/;

/** W3C Trace Context, version 00 and later. */
const traceParentForm = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/** Gives the call an id, the client's own where it sent a usable `x-request-id`, and notes the trace it belongs to. */
export const trace: Interceptor = (next) => (invocation) => {
  const { call } = invocation;
  const requestId = call.header("x-request-id");
  call.requestId = requestId !== undefined && requestIdForm.test(requestId) ? requestId : newRequestId();
  call.responseHeaders.set("x-request-id", call.requestId);
  const traceParent = call.header("traceparent");
  if (traceParent !== undefined && traceParentForm.test(traceParent)) call.traceParent = traceParent;
  return next(invocation);
};
