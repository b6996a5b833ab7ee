/** What an observer saw of a holder. */
interface Sight {
  /** Its last sign of life that was seen; undefined for one that never gave any. */
  beat: number | undefined;
  /** When that was seen first, by the observer's clock. */
  since: number;
}

/**
 * Tells which holders of leases show no life, by the observer's own monotonic clock. Nobody's time of day is compared
 * with anybody else's: a holder counts as gone when the observer, awake all the while, saw the same beat for as long
 * as a lease lasts.
 */
export class Watch {
  readonly #clock: () => number;
  readonly #seen = new Map<string, Sight>();
  #last = Number.NEGATIVE_INFINITY;

  /** @param clock milliseconds from any moment on, which go on whatever is done to the time of day */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /**
   * Looks at all holders at once; a round that comes late begins to observe anew, because the observer was stopped
   * itself and cannot tell who else was.
   * @param beats the last sign of life of every holder that matters
   * @returns those that showed none for `leaseMs`
   */
  round(beats: ReadonlyMap<string, number | undefined>, leaseMs: number): string[] {
    const now = this.#clock();
    if (now - this.#last > (leaseMs * 2) / 3) this.#seen.clear();
    this.#last = now;
    for (const holder of this.#seen.keys()) if (!beats.has(holder)) this.#seen.delete(holder);
    return [...beats].filter(([holder, beat]) => this.#isSilent(holder, beat, now, leaseMs)).map(([holder]) => holder);
  }

  #isSilent(holder: string, beat: number | undefined, now: number, leaseMs: number): boolean {
    const seen = this.#seen.get(holder);
    if (seen === undefined) {
      this.#seen.set(holder, { beat, since: now });
      return false;
    }
    // That somebody gave it up is no sign of life.
    if (beat !== undefined && beat !== seen.beat) {
      seen.beat = beat;
      seen.since = now;
    }
    return now - seen.since >= leaseMs;
  }
}
