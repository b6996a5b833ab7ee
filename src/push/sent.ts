import type { TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Audit } from "../audit/audit.js";
import type { AuditEvent } from "../audit/events.js";
import type { Semaphore } from "../core/async.js";
import { type LogCause, type Logger, logFacts } from "../core/log.js";
import type { PushConfigKey } from "../store/task-store.js";
import type { RawAttempt } from "./attempt-history.js";
import type { Host } from "./host-limiter.js";
import type { PostOutcome } from "./target/post.js";

interface Sent {
  readonly key: PushConfigKey;
  readonly config: TaskPushNotificationConfig;
  readonly outcome: PostOutcome;
  /** Generation of its event. */
  readonly generation: number;
  /** Its start and the time now, by `performance.now()`. */
  readonly begin: number;
  readonly now: number;
  readonly byOperator: boolean;
}

/** Buffer space for notifications that are not small. */
export interface BufferSpace {
  readonly outgoing: Semaphore;
  /** Buffer space for hosts that are not proven. */
  readonly outgoingProbes: Semaphore;
}

/** Returns the buffer space that a host's notifications use, so that stalled hosts cannot starve healthy ones. */
export function spaceOf(
  { outgoing, outgoingProbes }: BufferSpace,
  { isHealthy }: Pick<Host<unknown>, "isHealthy">,
): Semaphore {
  return isHealthy ? outgoing : outgoingProbes;
}

/** Makes the attempt of a notification that was sent. */
export function attemptOf({ key, config, outcome, generation, begin, now, byOperator }: Sent): RawAttempt {
  const durationMs = Math.round(now - begin);
  const { status = 0, answer: body } = outcome;
  const { taskId, configId } = key;
  const time = Date.now() - durationMs;
  const failure = describedFailure(outcome);
  return { taskId, configId, config, time, durationMs, generation, status, failure, byOperator, body };
}

/** The failure of an outcome in a sentence for people; empty if the notification was accepted. */
export function describedFailure(outcome: PostOutcome): string {
  if (outcome.kind === "accepted") return "";
  return outcome.kind === "failed" ? outcome.reason : `the receiver answered ${outcome.status}`;
}

/** Statuses that describe a host rather than one of its webhooks. */
const overloaded: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Notes a failure with its host. @returns its events for the audit log */
export function noteFailure(
  outcome: Exclude<PostOutcome, { kind: "accepted" }>,
  host: Pick<Host<unknown>, "failed">,
  now: number,
): readonly AuditEvent[] {
  const events: AuditEvent[] = [];
  if (outcome.kind === "failed" && outcome.forbidden) events.push("push.target-refused");
  const isOfHost = outcome.kind === "failed" || overloaded.has(outcome.status);
  if (isOfHost && host.failed(now)) events.push("push.circuit-opened");
  return events;
}

/** A failure of a notification. */
interface NotAccepted {
  readonly host: string;
  /** The failure in a sentence for people. */
  readonly failure: string;
  /** The error of a request without a complete response. */
  readonly error: Error | undefined;
  /** See `noteFailure`. */
  readonly events: readonly AuditEvent[];
}

/** Logs a notification that was not accepted, and records its events in the audit log. */
export function logFailure(
  { logger, audit }: { readonly logger: Logger; readonly audit: Audit },
  { key, cause }: { readonly key: PushConfigKey; readonly cause: LogCause },
  { host, failure, error, events }: NotAccepted,
): void {
  const facts = logFacts(cause);
  for (const event of events) audit.record({ event, target: host, ...facts });
  logger.debug(
    { ...key, ...facts, host, failure, ...(error && { err: error }) },
    "a push notification was not accepted",
  );
}
