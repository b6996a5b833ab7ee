/**
 * Maximum number of ended holders that are remembered. Each start of a process has its own name, so old names have no
 * leases left.
 */
const MOST_ENDED = 1_000;

interface Observation {
  /** The last heartbeat seen; undefined if none was. */
  heartbeat: number | undefined;
  /** Milliseconds since then in which the observer was running. */
  silentMs: number;
  /** True if the observer was suspended since that heartbeat and restarted the measurement. */
  isRestarted: boolean;
}

/**
 * Detects lease holders without heartbeats, by the observer's own monotonic clock, so that clocks of different
 * processes are never compared. A holder is gone when the observer, running all the while, saw the same heartbeat for
 * the length of a lease.
 */
export class LivenessMonitor {
  readonly #clock: () => number;
  readonly #seen = new Map<string, Observation>();
  readonly #ended = new Set<string>();
  #last = Number.NEGATIVE_INFINITY;

  /** @param clock a monotonic clock in milliseconds */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** Notes holders whose processes have ended. The next check counts them as gone, whatever their heartbeats are. */
  end(holders: readonly string[] = []): void {
    for (const holder of holders) this.#ended.add(holder);
    for (const oldest of this.#ended) {
      if (this.#ended.size <= MOST_ENDED) return;
      this.#ended.delete(oldest);
    }
  }

  /**
   * Checks all holders at once. A late call restarts the measurement, because the observer may itself have been
   * suspended and cannot tell if the holders were. That happens once per heartbeat: each further late call counts for a
   * third of the lease, so that a constantly slow machine still takes over in the end.
   * @param heartbeats the last heartbeat of every relevant holder
   * @returns the holders that have ended or sent no heartbeat for `leaseMs`
   */
  check(heartbeats: ReadonlyMap<string, number | undefined>, leaseMs: number): string[] {
    const now = this.#clock();
    const passed = now - this.#last;
    const isLate = passed > (leaseMs * 2) / 3;
    this.#last = now;
    for (const holder of this.#seen.keys()) if (!heartbeats.has(holder)) this.#seen.delete(holder);
    const expired: string[] = [];
    for (const [holder, heartbeat] of heartbeats) {
      const sight = this.#observe(holder, heartbeat);
      if (this.#ended.has(holder)) {
        expired.push(holder);
        continue;
      }
      if (sight === undefined) continue;
      if (isLate && !sight.isRestarted) {
        sight.isRestarted = true;
        sight.silentMs = 0;
      } else sight.silentMs += isLate ? leaseMs / 3 : passed;
      if (sight.silentMs >= leaseMs) expired.push(holder);
    }
    return expired;
  }

  /** The observation of a holder without a new heartbeat; undefined if it sent one. */
  #observe(holder: string, heartbeat: number | undefined): Observation | undefined {
    const seen = this.#seen.get(holder);
    // The removal of a holder's heartbeat is not a heartbeat.
    if (seen !== undefined && (heartbeat === undefined || heartbeat === seen.heartbeat)) return seen;
    this.#seen.set(holder, { heartbeat, silentMs: 0, isRestarted: false });
    return undefined;
  }
}
