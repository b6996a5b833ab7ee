import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { ClaimedDelivery } from "../store/task-store.js";
import { millisOf } from "../task/entry.js";
import { a2a, http, parley, rpc, spanNames } from "../telemetry/names.js";
import type { TracedSpan } from "../telemetry/tracer.js";
import type { Tracing } from "../telemetry/tracing.js";
import type { PostOutcome } from "./target/post.js";
import type { Target } from "./target/target-url.js";

/** One attempt to send a notification. */
interface Attempt {
  /** The event, or an operator's call that sends it. Only the entry of a message has a `tracestate`. */
  readonly entry: Pick<LogEntry, "traceParent" | "time" | "generation"> & {
    readonly turn?: { readonly traceState: string } | undefined;
  };
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
  const { entry, target, headers, send } = attempt;
  const tracer = tracing?.tracer;
  if (tracer === undefined) {
    passOn(entry, headers);
    return send();
  }
  const ageMs = Date.now() - millisOf(entry.time);
  const { hostname, port, protocol } = target.url;
  const serverPort = Number(port) || (protocol === "https:" ? 443 : 80);
  const attributes = { [http.method]: "POST", [rpc.serverAddress]: hostname, [rpc.serverPort]: serverPort };
  const event = { traceParent: entry.traceParent, traceState: entry.turn?.traceState ?? "" };
  const span = tracer.beginAfter(event, ageMs, spanNames.push, { kind: "client", attributes });
  span.set(a2a.taskId, claimed.taskId);
  span.set(parley.generation, entry.generation);
  span.set(parley.pushAttempts, claimed.attempts);
  const carried = headers.length;
  tracer.inject(span.context, (name, value) => headers.push(name, value));
  // Without an SDK, or with propagation switched off, the event's own header is passed on.
  if (headers.length === carried) passOn(entry, headers);
  return span.run(send).then((outcome) => ended(span, outcome));
}

/** Passes on the trace of the event as it is. */
function passOn({ traceParent, turn }: Attempt["entry"], headers: string[]): void {
  if (traceParent === "") return;
  headers.push("traceparent", traceParent);
  if (turn !== undefined && turn.traceState !== "") headers.push("tracestate", turn.traceState);
}

function ended(span: TracedSpan, outcome: PostOutcome): PostOutcome {
  if (outcome.kind === "failed") span.fail("request_failed");
  else if (outcome.kind !== "accepted") {
    span.set(http.statusCode, outcome.status);
    span.fail(String(outcome.status));
  }
  span.end();
  return outcome;
}
