import type { DeliveryOutcome } from "./push-store.js";

/** How far the deliveries of a configuration are. Never changed: replaced. Times are milliseconds since the epoch. */
export interface Delivery {
  readonly position: number;
  readonly state: DeliveryState;
  /** When the next try of one that is due is, or when one that is dead was given up. */
  readonly at: number;
  readonly attempts: number;
  readonly failingSince: number | undefined;
  /** Why the last try failed, for people. */
  readonly failure: string | undefined;
}

/** Numbers as stored, never to be changed. */
export const IDLE = 0;
export const DUE = 1;
export const DEAD = 2;

/** See `PushStore`. */
export type DeliveryState = typeof IDLE | typeof DUE | typeof DEAD;

/** Deliveries from a position on. */
export function deliveryFrom(position: number, headPosition: number, now: number): Delivery {
  const state = position < headPosition ? DUE : IDLE;
  return { position, state, at: now, attempts: 0, failingSince: undefined, failure: undefined };
}

/** Deliveries when everything up to a position was delivered. Progress ends the failures before it. */
export function advanced(before: Delivery, position: number): Delivery {
  if (position <= before.position) return before;
  return { ...before, position, attempts: 0, failingSince: undefined, failure: undefined };
}

/** Deliveries when a claim ends as `outcome` says; undefined when the holder is to go on, because there is more. */
export function settled(before: Delivery, outcome: DeliveryOutcome, headPosition: number): Delivery | undefined {
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

/** Deliveries that were given up, due once more. */
export function redriven({ position }: Delivery, now: number): Delivery {
  return { position, state: DUE, at: now, attempts: 0, failingSince: undefined, failure: undefined };
}

/** Whether it counts for the limit of its owner: what is idle when its task is over will never be due again. */
export function counts(state: DeliveryState, finished: boolean): boolean {
  return !finished || state !== IDLE;
}
