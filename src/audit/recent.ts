import type { AuditLog, AuditRecord } from "./audit.js";

/**
 * Number of records that stay in memory for operators: enough to see what happened lately, at about half a megabyte. A
 * record has short texts only, so that even the longest ones take a few megabytes.
 */
const MAX_RECENT = 1_000;

/** A record with its place in time. */
export interface PlacedRecord {
  /** Microseconds since 1970: the time of the record, and its rank among the records of that millisecond. */
  readonly micros: number;
  readonly record: AuditRecord;
}

/** Ranks in one millisecond. */
const RANKS = 1_000;

/** Filters of records. An empty list matches all; so does an undefined owner. */
export interface AuditFilter {
  readonly events: readonly string[];
  readonly outcomes: readonly string[];
  /** The empty owner matches records without one. */
  readonly owner?: string | undefined;
}

/** Keeps the latest audit records of the process, and passes each one on to another log. */
export class RecentAudit implements AuditLog {
  readonly #next: AuditLog | undefined;
  readonly #ring: PlacedRecord[] = [];
  #written = 0;
  #lastMicros = 0;

  constructor(next: AuditLog | undefined) {
    this.#next = next;
  }

  write(record: AuditRecord): unknown {
    const micros = Date.parse(record.at) * RANKS;
    const isSame = Math.floor(this.#lastMicros / RANKS) * RANKS === micros;
    this.#lastMicros = isSame ? this.#lastMicros + 1 : micros;
    this.#ring[this.#written++ % MAX_RECENT] = { micros: this.#lastMicros, record };
    // The recorder catches what this throws.
    return this.#next?.write(record);
  }

  /**
   * Returns matching records, newest first. Clocks jump, so the last record that was written is not always the newest.
   * @param before only records with a smaller `micros`
   */
  list(
    { events, outcomes, owner }: AuditFilter,
    { before, limit }: { readonly before: number | undefined; readonly limit: number },
  ): PlacedRecord[] {
    return this.#ring
      .filter(
        ({ micros, record }) =>
          (before === undefined || micros < before) &&
          (events.length === 0 || events.includes(record.event)) &&
          (outcomes.length === 0 || outcomes.includes(record.outcome)) &&
          (owner === undefined || owner === (record.owner ?? "")),
      )
      .sort((one, other) => other.micros - one.micros)
      .slice(0, limit);
  }
}
