import type { AuditLog, AuditRecord } from "./audit.js";

/**
 * Number of records that stay in memory for operators: enough to see what happened lately, at about half a megabyte. A
 * record has short texts only, so that even the longest ones take a few megabytes.
 */
const MAX_RECENT = 1_000;

/** A record with its number, which grows with each record. */
interface Numbered {
  readonly number: number;
  readonly record: AuditRecord;
}

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
  readonly #ring: Numbered[] = [];
  #written = 0;

  constructor(next: AuditLog | undefined) {
    this.#next = next;
  }

  write(record: AuditRecord): unknown {
    this.#ring[this.#written % MAX_RECENT] = { number: this.#written, record };
    this.#written++;
    // The recorder catches what this throws.
    return this.#next?.write(record);
  }

  /**
   * Returns matching records, newest first.
   * @param before only records with a smaller number
   */
  list(
    filter: AuditFilter,
    { before, limit }: { readonly before: number | undefined; readonly limit: number },
  ): Numbered[] {
    const { events, outcomes, owner } = filter;
    const found: Numbered[] = [];
    const oldest = Math.max(0, this.#written - MAX_RECENT);
    for (let number = Math.min(before ?? this.#written, this.#written) - 1; number >= oldest; number--) {
      const kept = this.#ring[number % MAX_RECENT];
      if (kept === undefined || found.length >= limit) break;
      const { record } = kept;
      if (events.length > 0 && !events.includes(record.event)) continue;
      if (outcomes.length > 0 && !outcomes.includes(record.outcome)) continue;
      if (owner === undefined || owner === (record.owner ?? "")) found.push(kept);
    }
    return found;
  }
}
