import type { ClaimedDelivery } from "../store/task-store.js";
import { a2a, http, parley, REQUEST_FAILED, rpc, spanNames } from "../telemetry/names.js";
import type { TracedSpan } from "../telemetry/tracer.js";
import type { Tracing } from "../telemetry/tracing.js";
import type { TraceHeaders } from "../telemetry/w3c.js";
import type { PostOutcome } from "./target/post.js";
import type { Target } from "./target/target-url.js";

interface Attempt {
  /** Trace of the event, or of the operator's call that sends it. */
  readonly trace: TraceHeaders;
  /** Time of the event or call, in milliseconds since the epoch. */
  readonly time: number;
  readonly generation: number;
  readonly target: Target;
  /** Names and values alternate. */
  readonly headers: string[];
  /** Never rejects. */
  readonly send: () => Promise<PostOutcome>;
}

/**
 * Sends a notification with the trace of its event. If spans are created, the attempt has its own span: a child of the
 * span that wrote the event, or linked with it if the event is old, as after retries.
 */
export function tracedPost(
  tracing: Tracing | undefined,
  claimed: Pick<ClaimedDelivery, "taskId" | "attempts">,
  attempt: Attempt,
): Promise<PostOutcome> {
  const { trace, time, generation, target, headers, send } = attempt;
  const tracer = tracing?.tracer;
  if (tracer === undefined) {
    passOn(trace, headers);
    return send();
  }
  const ageMs = Date.now() - time;
  const { hostname, port, protocol } = target.url;
  const serverPort = Number(port) || (protocol === "https:" ? 443 : 80);
  const attributes = { [http.method]: "POST", [rpc.serverAddress]: hostname, [rpc.serverPort]: serverPort };
  const span = tracer.beginAfter(trace, ageMs, spanNames.push, { kind: "client", attributes });
  span.set(a2a.taskId, claimed.taskId);
  span.set(parley.generation, generation);
  span.set(parley.pushAttempts, claimed.attempts);
  const carried = headers.length;
  tracer.inject(span.context, (name, value) => headers.push(name, value));
  // Without an SDK, or with propagation switched off, the event's own headers are passed on.
  if (headers.length === carried) passOn(trace, headers);
  return span.run(send).then((outcome) => endPostSpan(span, outcome));
}

/** Passes on the trace of the event as it is. */
function passOn({ traceParent, traceState }: TraceHeaders, headers: string[]): void {
  if (traceParent === "") return;
  headers.push("traceparent", traceParent);
  if (traceState !== "") headers.push("tracestate", traceState);
}

function endPostSpan(span: TracedSpan, outcome: PostOutcome): PostOutcome {
  span.set(http.statusCode, outcome.status);
  if (outcome.kind === "failed") span.fail(REQUEST_FAILED);
  else if (outcome.kind === "refused") span.fail(String(outcome.status));
  span.end();
  return outcome;
}
