import { CENSUS_LIMIT, type Census } from "../census-store.js";

/** Returns the census of a store in memory. */
export function censusOf(
  openTasks: number,
  interrupted: { readonly size: number },
  { dueCount, deadCount }: { readonly dueCount: number; readonly deadCount: number },
): Census {
  const most = (count: number): number => Math.min(count, CENSUS_LIMIT);
  return {
    bytes: 0,
    openTasks,
    interrupted: most(interrupted.size),
    due: most(dueCount),
    dead: most(deadCount),
  };
}
