import { CENSUS_LIMIT } from "./operator-store.js";
import type { TaskStore } from "./task-store.js";

/** Leases that one read of the store returns. */
const PAGE = 1_000;

/** Counts the leases of a holder, up to `CENSUS_LIMIT`. */
export async function countLeases(store: Pick<TaskStore, "leasesOf">, holder: string): Promise<number> {
  let count = 0;
  for (let after = ""; count < CENSUS_LIMIT; ) {
    const page = await store.leasesOf({ holder, after, limit: PAGE });
    count += page.length;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    after = last.taskId;
  }
  return Math.min(count, CENSUS_LIMIT);
}
