import type {
  AttemptFacts,
  ClaimDeliveries,
  DeliveryOutcome,
  DeliveryStateName,
  FailedAttempt,
  ListDeliveries,
  StoredDelivery,
} from "./push-store.js";
import type { TaskRow } from "./task-head.js";

/** Delivery progress of a configuration. Immutable: a change replaces it. Times are milliseconds since the epoch. */
export interface Delivery {
  readonly position: number;
  readonly state: DeliveryState;
  /** The next attempt if due; the time of giving up if dead. */
  readonly at: number;
  readonly attempts: number;
  readonly failingSince: number | undefined;
  /** Reason of the last failure, for people. */
  readonly failure: string | undefined;
}

/** A task, as its push configurations see it. */
export interface TaskOfConfigs extends Pick<TaskRow, "taskId" | "tenant" | "owner" | "position"> {
  readonly finished: boolean;
}

/** The fields of a configuration and its task that decide on a change. */
export interface StoredConfig {
  readonly delivery: Delivery;
  readonly holder: string | null;
  readonly claim: number | null;
  readonly task: TaskOfConfigs;
}

/** Stored numbers: never change them. */
export const IDLE = 0;
export const DUE = 1;
export const DEAD = 2;

/** See `PushStore`. */
export type DeliveryState = typeof IDLE | typeof DUE | typeof DEAD;

export const deliveryStates: Readonly<Record<DeliveryState, DeliveryStateName>> = {
  [IDLE]: "idle",
  [DUE]: "due",
  [DEAD]: "dead",
};

/** New delivery progress from a position. */
export function deliveryFrom(position: number, headPosition: number, now: number): Delivery {
  const state = position < headPosition ? DUE : IDLE;
  return { position, state, at: now, attempts: 0, failingSince: undefined, failure: undefined };
}

/** Delivery progress after everything up to a position was delivered. Progress resets the failures. */
export function advanced(before: Delivery, position: number): Delivery {
  if (position <= before.position) return before;
  return { ...before, position, attempts: 0, failingSince: undefined, failure: undefined };
}

/** Delivery progress after a claim ended with `outcome`; undefined if more is undelivered and the holder continues. */
export function completed(before: Delivery, outcome: DeliveryOutcome, headPosition: number): Delivery | undefined {
  switch (outcome.kind) {
    case "done":
      if (before.position < headPosition) return undefined;
      return { ...before, state: IDLE, attempts: 0, failingSince: undefined, failure: undefined };
    case "retry": {
      const { at, failure, failingSince } = outcome;
      return { ...before, at, attempts: before.attempts + 1, failure, failingSince };
    }
    case "later":
      return {
        ...before,
        at: outcome.at,
        failure: outcome.failure ?? before.failure,
        failingSince: outcome.failingSince ?? before.failingSince,
      };
    case "dead":
      return { ...before, state: DEAD, at: outcome.at, failure: outcome.failure };
  }
}

/** Number of failed attempts that are stored for each configuration; older ones are removed. */
export const STORED_ATTEMPTS = 20;

/** Number of configurations that one page of `PushStore.listDeliveries` examines at most. */
export const EXAMINED_DELIVERIES = 1_000;

/** True if a delivery passes all filters. */
export function passes(
  delivery: StoredDelivery,
  { states = [], tenant, owner, taskId, target }: ListDeliveries,
): boolean {
  return (
    (states.length === 0 || states.includes(delivery.state)) &&
    (tenant ?? delivery.tenant) === delivery.tenant &&
    (owner ?? delivery.owner) === delivery.owner &&
    (taskId ?? delivery.taskId) === delivery.taskId &&
    (target ?? delivery.target) === delivery.target
  );
}

/** The failed attempt of an outcome, to be stored with it; undefined if nothing was sent. */
export function attemptOf(outcome: DeliveryOutcome, holder: string): FailedAttempt | undefined {
  if (outcome.kind !== "retry" && outcome.kind !== "dead") return undefined;
  const { attempt, failure } = outcome;
  return attempt && { ...factsOf(attempt), failure, holder };
}

/** Copies the fields explicitly: a caller's object may have more. */
function factsOf({ time, durationMs, generation, status, answer }: AttemptFacts): AttemptFacts {
  return { time, durationMs, generation, status, answer };
}

/**
 * Delivery progress after a redrive by key: a dead one is due again without its failures, and one that waits for its
 * next attempt is due at `now` with them. Undefined if nothing changes.
 */
export function redriven(delivery: Delivery, isHeld: boolean, now: number): Delivery | undefined {
  const { position, state, at } = delivery;
  if (state === DEAD)
    return { position, state: DUE, at: now, attempts: 0, failingSince: undefined, failure: undefined };
  return state === DUE && at > now && !isHeld ? { ...delivery, at: now } : undefined;
}

/**
 * True if a configuration counts towards its owner's limit. An idle one of a finished task does not: it will never be
 * due again.
 */
export function counts(state: DeliveryState, finished: boolean): boolean {
  return !finished || state !== IDLE;
}

/** A due delivery, as claims see it. */
interface Claimable {
  readonly target: string;
}

/** Source of due deliveries. Taken ones are not found again. */
export interface DueSource<T extends Claimable> {
  /** The longest due. */
  first(limit: number): readonly T[];
  /** The longest due of one target. */
  of(target: string, limit: number): readonly T[];
  /** The next target, in order, that has or will have due deliveries; the first one for undefined. */
  targetAfter(target: string | undefined): string | undefined;
  take(due: T): void;
}

/** Targets that one claim visits in turn; the next claim continues with the rest. */
const MOST_TARGETS = 256;

/** The share of a claim that one target gets in its turn while other targets wait. */
const TURN_SHARE = 8;

/**
 * Chooses the deliveries to claim. If more are due than requested, half of the claim goes to the longest due, and
 * targets take turns at the other half, so that a target with a large backlog cannot starve others by its age or size.
 */
export class FairClaims {
  /** The last target that had its turn. */
  #turn: string | undefined;
  #isOdd = false;

  /** @returns the number of deliveries taken */
  claim<T extends Claimable>(
    source: DueSource<T>,
    { limit, capacity }: Pick<ClaimDeliveries, "limit" | "capacity">,
  ): number {
    const taking = new Taking(source, limit, capacity);
    const first = source.first(limit + 1);
    if (first.length <= limit) {
      taking.some(first, limit);
      return taking.count;
    }
    // For an odd limit, age and turns get the extra one alternately.
    this.#isOdd = !this.#isOdd;
    taking.some(first, (limit + Number(this.#isOdd)) >> 1);
    const targets = new Set<string>();
    const most = Math.ceil((limit - taking.count) / TURN_SHARE);
    while (targets.size < MOST_TARGETS && !taking.isFull) {
      const target = source.targetAfter(this.#turn) ?? source.targetAfter(undefined);
      if (target === undefined || targets.has(target)) break;
      targets.add(target);
      this.#turn = target;
      taking.of(target, most);
    }
    for (const target of targets) taking.of(target, limit);
    return taking.count;
  }
}

class Taking<T extends Claimable> {
  readonly #source: DueSource<T>;
  readonly #limit: number;
  readonly #capacity: ClaimDeliveries["capacity"];
  readonly #counts = new Map<string, number>();
  count = 0;

  constructor(source: DueSource<T>, limit: number, capacity: ClaimDeliveries["capacity"]) {
    this.#source = source;
    this.#limit = limit;
    this.#capacity = capacity;
  }

  get isFull(): boolean {
    return this.count >= this.#limit;
  }

  /** Takes some of these, within the quotas of their targets. */
  some(found: readonly T[], most: number): void {
    let left = Math.min(most, this.#limit - this.count);
    for (const due of found) {
      if (left <= 0) return;
      if (this.#capacityOf(due.target) <= 0) continue;
      this.#source.take(due);
      this.#counts.set(due.target, (this.#counts.get(due.target) ?? 0) + 1);
      this.count++;
      left--;
    }
  }

  of(target: string, most: number): void {
    const left = Math.min(most, this.#limit - this.count, this.#capacityOf(target));
    if (left > 0) this.some(this.#source.of(target, left), left);
  }

  #capacityOf(target: string): number {
    if (this.#capacity === undefined) return this.#limit;
    return (this.#capacity.of.get(target) ?? this.#capacity.others) - (this.#counts.get(target) ?? 0);
  }
}
