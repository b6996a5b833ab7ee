/** What an observer saw of a holder. */
interface Observation {
  /** Its last sign of life that was seen; undefined for one that never gave any. */
  beat: number | undefined;
  /** How long it has shown no other, in milliseconds in which the observer was awake. */
  silentMs: number;
  /** Whether the observer was stopped since that sign, and began to measure anew. */
  anew: boolean;
}

/**
 * Finds the holders of leases that show no sign of life, by the observer's own monotonic clock. No times of day of different
 * processes are compared: a holder counts as gone when the observer, awake all the while, saw the same beat for as long
 * as a lease lasts.
 */
export class LivenessMonitor {
  readonly #clock: () => number;
  readonly #seen = new Map<string, Observation>();
  #last = Number.NEGATIVE_INFINITY;

  /** @param clock milliseconds from any moment on, which go on whatever is done to the time of day */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /**
   * Looks at all holders at once. A round that comes late begins to measure anew, because the observer was stopped
   * itself and cannot tell which holders were; once for each sign of life, so that a machine on which every round comes late
   * does not put off for ever what has to be taken over. Of further late ones a third of the lease counts.
   * @param beats the last sign of life of every holder that matters
   * @returns those that showed none for `leaseMs`
   */
  check(beats: ReadonlyMap<string, number | undefined>, leaseMs: number): string[] {
    const now = this.#clock();
    const passed = now - this.#last;
    const late = passed > (leaseMs * 2) / 3;
    this.#last = now;
    for (const holder of this.#seen.keys()) if (!beats.has(holder)) this.#seen.delete(holder);
    const gone: string[] = [];
    for (const [holder, beat] of beats) {
      const sight = this.#observe(holder, beat);
      if (sight === undefined) continue;
      if (late && !sight.anew) {
        sight.anew = true;
        sight.silentMs = 0;
      } else sight.silentMs += late ? leaseMs / 3 : passed;
      if (sight.silentMs >= leaseMs) gone.push(holder);
    }
    return gone;
  }

  /** What was seen of a holder that gave no sign of life since; undefined when it gave one. */
  #observe(holder: string, beat: number | undefined): Observation | undefined {
    const seen = this.#seen.get(holder);
    // That the holder was given up is no sign of life.
    if (seen !== undefined && (beat === undefined || beat === seen.beat)) return seen;
    this.#seen.set(holder, { beat, silentMs: 0, anew: false });
    return undefined;
  }
}
