import type { Message } from "@bufbuild/protobuf";
import { isTraceParent, REQUEST_ID_HEADER } from "../../core/ids.js";
import { isTraceState } from "../../telemetry/w3c.js";
import type { ServiceInterceptor } from "../invoke.js";
import { taskNamedBy } from "./task-named.js";

/**
 * Adopts the trace of the call, and adds the request id to the answer where the binding does not. Notes the task and
 * the agent before other interceptors may refuse the call, so that the log lines of a refusal name them.
 *
 * @param agentOf returns the name of the agent that a request is for, or an empty text
 */
export function trace(agentOf: (request: Message) => string): ServiceInterceptor {
  return (next) => (invocation) => {
    const { request, call } = invocation;
    if (!call.hasOwnRequestId) call.responseHeaders.set(REQUEST_ID_HEADER, call.requestId);
    const traceParent = call.header("traceparent");
    if (traceParent !== undefined && isTraceParent(traceParent)) {
      call.traceParent = traceParent;
      const traceState = call.header("tracestate");
      if (traceState !== undefined && isTraceState(traceState)) call.traceState = traceState;
    }
    call.taskId = taskNamedBy(request) ?? "";
    call.agent = agentOf(request);
    return next(invocation);
  };
}
