import type { Chance } from "./schedule.js";

/** A task that a client wants done. */
export interface Order {
  readonly name: string;
  readonly asks: boolean;
  readonly work: {
    readonly pieces: number;
    readonly pause: number;
    readonly stubborn: boolean;
    readonly delegates: boolean;
  };
  /** True if a webhook receives the task's events. */
  readonly isHooked: boolean;
  readonly mode: "stream" | "wait" | "return";
}

/** A random order. @param hasHooks false for orders without webhooks */
export function orderOf(chance: Chance, name: string, hasHooks: boolean): Order {
  // Some tasks run for longer than a lease, so that another replica takes them over while their first holder is
  // stopped.
  const [most, slowest] = chance.is(0.25) ? [40, 250] : [12, 150];
  const delegates = chance.is(0.15);
  return {
    name,
    asks: chance.is(0.3) && !delegates,
    mode: chance.pick(["stream", "stream", "wait", "return"] as const),
    work: {
      ...{ pieces: chance.between(1, most), pause: chance.between(10, slowest) },
      ...{ stubborn: chance.is(0.3), delegates },
    },
    isHooked: chance.is(0.25) && hasHooks,
  };
}
