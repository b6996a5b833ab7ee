import { type Fence, type Lease, NO_HOLDER } from "../../store/task-store.js";

/**
 * `Lease.attempt` counts the executions of a turn. A restart after a crash adds 1, a restart after an outage of the
 * store adds this number. So each execution has its own fence, and only crashes count for `maxRestarts`.
 */
const OUTAGE = 65_536;

/** Attempt of a turn that no agent has started. A claim increments it to 0, which recovery recognizes. */
const NEVER_BEGUN = -1;

/** Returns the number of executions that count for `maxRestarts`. */
export function attemptsOf({ attempt }: Fence): number {
  return attempt % OUTAGE;
}

/** Returns the number of executions that followed an outage of the store. */
export function outagesOf({ attempt }: Fence): number {
  return Math.max(0, Math.floor(attempt / OUTAGE));
}

/** Returns the number of executions of a turn, including those that an outage ended. */
export function runsOf(fence: Fence): number {
  return attemptsOf(fence) + outagesOf(fence);
}

/** Returns the lease of a turn's next execution after a crash. */
export function afterCrash(lease: Lease): Lease {
  return { holder: lease.holder, turn: lease.turn, attempt: lease.attempt + 1 };
}

/** Returns the lease of a turn's next execution after an outage of the store. */
export function afterOutage({ holder, turn, attempt }: Lease): Lease {
  return { holder, turn, attempt: attempt + OUTAGE };
}

/**
 * Returns the lease as it was before its execution started. The claim, or the start itself, then counts the attempt.
 */
export function notStarted({ holder, turn, attempt }: Lease): Lease {
  return { holder, turn, attempt: attempt - 1 };
}

/** Returns the lease of the same turn, released for any process to claim. The claim counts one more attempt. */
export function releasedLease({ turn, attempt }: Lease): Lease {
  return { holder: NO_HOLDER, turn, attempt };
}

/** Returns the lease of a turn that is queued. Its agent has not started. */
export function queuedLease(holder: string, turn: number): Lease {
  return { holder, turn, attempt: NEVER_BEGUN };
}
