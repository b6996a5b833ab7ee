import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";

/** The process that wrote an entry, and the number of the execution of its turn; 0 if no execution wrote it. */
export interface Origin {
  readonly writer: string;
  readonly attempt: number;
}

/**
 * Interval of the entries that always name their writer, so that a reader finds the writer of any entry without reading
 * the whole log.
 */
const STRIDE = 64;

/**
 * Notes an entry's origin if the entry before has another one, or if it is one that always names it.
 * @returns the origin for the entry after; `before` if it is the same
 */
export function noteOrigin(entry: LogEntry, writer: string, attempt: number, before: Origin | undefined): Origin {
  if (before?.writer === writer && entry.position % STRIDE !== 0) {
    if (before.attempt === attempt) return before;
    entry.attempt = attempt;
  } else {
    entry.writer = writer;
    entry.attempt = attempt;
  }
  return { writer, attempt };
}

/** Returns the origin of an entry, given that of the entry before. Undefined if the log does not name it. */
export function originAfter({ writer, attempt }: LogEntry, before: Origin | undefined): Origin | undefined {
  if (writer === "" && attempt === undefined) return before;
  if (writer !== "") return { writer, attempt: attempt ?? 0 };
  return before && { writer: before.writer, attempt: attempt ?? 0 };
}

/** The first position to read from, to know the origin of an entry. */
export function originFrom(position: number): number {
  return Math.max(1, position - (position % STRIDE));
}
