import type { DeadDelivery, PushConfigKey } from "./push-store.js";

/** Configurations per transaction, so that other writes wait only briefly. */
const STEP = 500;

/** Functions to list and redrive dead deliveries. */
interface Redriving {
  readonly listDead: (
    after: PushConfigKey | undefined,
    limit: number,
  ) => Promise<readonly DeadDelivery[]> | readonly DeadDelivery[];
  readonly redrive: (keys: readonly PushConfigKey[]) => Promise<number> | number;
}

/**
 * Redrives configurations in steps.
 * @param keys default: all that are dead by now
 * @returns the number of changed configurations
 */
export async function redriveInSteps(
  { listDead, redrive }: Redriving,
  keys?: readonly PushConfigKey[],
): Promise<number> {
  let count = 0;
  if (keys !== undefined) {
    for (let first = 0; first < keys.length; first += STEP) count += await redrive(keys.slice(first, first + STEP));
    return count;
  }
  for (let after: PushConfigKey | undefined; ; ) {
    const dead: readonly DeadDelivery[] = await listDead(after, STEP);
    if (dead.length > 0) count += await redrive(dead.map(({ taskId, configId }) => ({ taskId, configId })));
    if (dead.length < STEP) return count;
    after = dead.at(-1);
  }
}
