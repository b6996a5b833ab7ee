import type { Limits } from "../core/limits.js";
import type { ClaimedDelivery, DeliveryOutcome } from "../store/task-store.js";
import type { Delivery, Ending } from "./delivery.js";
import { backoffMs } from "./timing.js";

/** A configuration whose key is missing is looked at again after this time, in milliseconds. */
export const UNREADABLE_MS = 300_000;

/** What outcomes are judged by. */
export interface Judgement {
  readonly limits: Pick<Limits, "maxPushRetryMs" | "maxPushAgeMs">;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether ages by that clock can be relied on. */
  readonly isSteady: () => boolean;
}

/** What is stored of a delivery that ended; undefined when the claim is another process's. */
export function outcomeOf(delivery: Delivery, ending: Ending, judgement: Judgement): DeliveryOutcome | undefined {
  const { now } = judgement;
  if (ending.kind === "lost") return undefined;
  if (ending.kind === "done") return ending;
  if (ending.kind === "later") return { kind: "later", at: now + ending.ms };
  const { claimed, progressed } = delivery;
  // What failed before a notification was accepted is over.
  const before = progressed ? { attempts: 0, failingSince: undefined } : claimed;
  return failed(before, ending, judgement);
}

/** What is stored of one that could not be sent. */
export function failed(
  { attempts, failingSince }: Pick<ClaimedDelivery, "attempts" | "failingSince">,
  { failure, retryAfterMs = 0, gone = false }: { failure: string; retryAfterMs?: number; gone?: boolean },
  { limits, now, isSteady }: Judgement,
): DeliveryOutcome {
  const since = begun(failingSince, now);
  if (gone || (now - since >= limits.maxPushAgeMs && isSteady())) return { kind: "dead", at: now, failure };
  const at = Math.ceil(now + backoffMs(attempts, limits, retryAfterMs));
  return { kind: "retry", at, failure, failingSince: since };
}

/**
 * What is stored of one whose host is busy or does not answer: it is put off, and no try is counted. It ages all the same where the
 * host fails, and may be given up.
 *
 * @param hostFailingSince when the host began to fail, in milliseconds since the epoch
 */
export function putOff(
  { failingSince }: Pick<ClaimedDelivery, "failingSince">,
  { offMs, hostFailingSince }: { readonly offMs: number; readonly hostFailingSince: number | undefined },
  { limits, now, isSteady }: Judgement,
): DeliveryOutcome {
  const at = Math.ceil(now + offMs);
  if (hostFailingSince === undefined) return { kind: "later", at };
  const since = begun(failingSince ?? hostFailingSince, now);
  const failure = "the host has not answered others either";
  if (now - since >= limits.maxPushAgeMs && isSteady()) return { kind: "dead", at: now, failure };
  return { kind: "later", at, failingSince: since, failure };
}

/** When failures began: not in the future, where a clock that was ahead has put them, as they would never be old enough then. */
function begun(failingSince: number | undefined, now: number): number {
  return Math.min(failingSince ?? now, now);
}
