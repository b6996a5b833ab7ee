/** A deviation of a schedule from the default order: at decision `at` it takes option `take` instead of the first. */
export interface Deviation {
  readonly at: number;
  readonly take: number;
}

/** A schedule, given by its deviations. Without deviations it is the default order. */
export type Schedule = readonly Deviation[];

/** Chooses one of a step's options. Returns an index below `options`. */
export type Choose = (options: number) => number;

/** The schedules that an enumeration runs. */
export interface Extent {
  readonly deviations: number;
  /** True to run only a random sample of those with several deviations. Default: false. */
  readonly sampled?: boolean;
}

/** Number of samples that the schedules with several deviations are divided into. */
const SAMPLE = 16;

/** Result of an enumeration. */
export interface Explored {
  readonly schedules: number;
  readonly steps: number;
  /** The first violation, with the schedule that leads to it. */
  readonly violation?: { readonly schedule: Schedule; readonly what: string };
}

/** One run under a schedule: the number of its steps, and the violated invariants. */
export interface Outcome {
  readonly steps: number;
  readonly violations: readonly string[];
}

/**
 * Runs every schedule with at most `deviations` deviations from the default order once, fewest deviations first, until
 * one violates an invariant. A run is repeated from its beginning for each schedule, so it has to be deterministic.
 */
export async function explore(
  run: (choose: Choose) => Promise<Outcome>,
  { deviations, sampled = false }: Extent,
): Promise<Explored> {
  let [schedules, steps] = [0, 0];
  let level: Schedule[] = [[]];
  while (level.length > 0) {
    const next: Schedule[] = [];
    for (const schedule of level) {
      const { outcome, options } = await follow(run, schedule);
      schedules++;
      steps += outcome.steps;
      const [what] = outcome.violations;
      if (what !== undefined) return { schedules, steps, violation: { schedule, what } };
      if (schedule.length === deviations) continue;
      // Deviates only after the last deviation. A schedule with an earlier one is reached from another schedule.
      for (let at = (schedule.at(-1)?.at ?? -1) + 1; at < options.length; at++) {
        for (let take = 1; take < (options[at] ?? 0); take++) next.push([...schedule, { at, take }]);
      }
    }
    const spread = next[0]?.length === 1 ? [next] : samplesOf(next);
    level = sampled ? (spread[Math.floor(Math.random() * spread.length)] ?? []) : spread.flat();
  }
  return { schedules, steps };
}

/**
 * Divides schedules into samples that are each spread over all of them. Violations often come in groups, so a sample
 * finds one sooner.
 */
function samplesOf(schedules: readonly Schedule[]): Schedule[][] {
  return Array.from({ length: SAMPLE }, (_, first) => schedules.filter((_, at) => at % SAMPLE === first));
}

/** Runs one schedule. Returns its outcome and the number of options of each decision. */
export async function follow(
  run: (choose: Choose) => Promise<Outcome>,
  schedule: Schedule,
): Promise<{ readonly outcome: Outcome; readonly options: readonly number[] }> {
  const options: number[] = [];
  const takes = new Map(schedule.map(({ at, take }) => [at, take]));
  const outcome = await run((count) => {
    const take = takes.get(options.length) ?? 0;
    options.push(count);
    if (take >= count)
      throw new Error(`Decision ${options.length - 1} has ${count} options: the run is not repeatable.`);
    return take;
  });
  return { outcome, options };
}
