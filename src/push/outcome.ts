import { backoffMs } from "../core/async.js";
import type { Limits } from "../core/limits.js";
import type { AttemptFacts, ClaimedDelivery, DeliveryOutcome } from "../store/task-store.js";

/**
 * Maximum delay before the first retry, in milliseconds; doubled after each further failure. Also the first rest of a
 * failing host.
 */
export const pushRetry = { firstMs: 1_000 } as const;

/** Delay before retrying a configuration whose key is missing, in milliseconds. */
export const UNREADABLE_MS = 300_000;

/** Parameters of an outcome. */
export interface Judgement {
  readonly limits: Pick<Limits, "maxPushRetryMs" | "maxPushAgeMs">;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** True if ages by the time of day are reliable. */
  readonly isSteady: () => boolean;
}

/** Outcome of a delivery, before it is stored. */
export type Ending =
  | { readonly kind: "done" }
  /** Postponed by this many milliseconds, in this process or another. */
  | { readonly kind: "later"; readonly ms: number }
  | { readonly kind: "lost" }
  | {
      readonly kind: "failed";
      readonly failure: string;
      readonly retryAfterMs: number;
      readonly gone: boolean;
      /** Undefined if nothing was sent. */
      readonly attempt?: AttemptFacts;
    };

interface Ended {
  readonly claimed: Pick<ClaimedDelivery, "attempts" | "failingSince">;
  /** True if a notification was accepted since the claim. */
  readonly progressed: boolean;
}

/** Stored outcome of a delivery that ended; undefined if another process has the claim. */
export function outcomeOf(
  { claimed, progressed }: Ended,
  ending: Ending,
  judgement: Judgement,
): DeliveryOutcome | undefined {
  const { now } = judgement;
  if (ending.kind === "lost") return undefined;
  if (ending.kind === "done") return ending;
  if (ending.kind === "later") return { kind: "later", at: now + ending.ms };
  // A success resets the failures before it.
  const before = progressed ? { attempts: 0, failingSince: undefined } : claimed;
  return failedOutcome(before, ending, judgement);
}

/** A failure, with its attempt if anything was sent. */
interface Failure {
  readonly failure: string;
  readonly retryAfterMs?: number;
  readonly gone?: boolean;
  readonly attempt?: AttemptFacts | undefined;
}

/** Stored outcome of a failed attempt. */
export function failedOutcome(
  { attempts, failingSince }: Pick<ClaimedDelivery, "attempts" | "failingSince">,
  { failure, retryAfterMs = 0, gone = false, attempt }: Failure,
  { limits, now, isSteady }: Judgement,
): DeliveryOutcome {
  const since = begun(failingSince, now);
  if (gone || (now - since >= limits.maxPushAgeMs && isSteady())) {
    return { kind: "dead", at: now, failure, attempt };
  }
  const at = Math.ceil(now + retryDelayMs(attempts, limits, retryAfterMs));
  return { kind: "retry", at, failure, failingSince: since, attempt };
}

/**
 * Stored outcome of a delivery whose host is busy or failing: postponed without counting an attempt. It still ages if
 * the host fails, and may be given up.
 *
 * @param hostFailingSince time of day of the host's first failure, in milliseconds since the epoch
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

/**
 * Delay after a failure, in milliseconds. A longer delay requested by the receiver applies, up to the same limit.
 *
 * @param attempts failures in a row before this one
 */
export function retryDelayMs(
  attempts: number,
  { maxPushRetryMs }: Pick<Limits, "maxPushRetryMs">,
  retryAfterMs = 0,
): number {
  const ms = backoffMs(attempts + 1, { firstMs: pushRetry.firstMs, maxMs: maxPushRetryMs });
  return Math.min(maxPushRetryMs, Math.max(ms, retryAfterMs));
}

/**
 * Start of the failures in whole milliseconds, as stores have it. At most the present time: a clock that ran ahead may have
 * stored a future one, which would never age.
 */
function begun(failingSince: number | undefined, now: number): number {
  return Math.floor(Math.min(failingSince ?? now, now));
}
