import { useEffect, useState } from "react";
import type { Entry } from "../../../../gen/parley/admin/v1/admin_pb.js";
import type { TaskLog } from "./task-log.js";
import { useLogVersion } from "./use-task.js";

/** Most entries, and bytes of them, that a view of the whole log reads before it asks. */
export const SCAN_ENTRIES = 5_000;
const SCAN_BYTES = 24 * 1024 * 1024;

/** The first entries of a log, as far as they were read. */
export interface Scan {
  readonly entries: readonly Entry[];
  /** True if all entries of the log were read. */
  readonly isWhole: boolean;
  /** True while more is read. */
  readonly isReading: boolean;
  readonly error: unknown;
  /** Reads further where the limit was reached. */
  readonly readOn: (() => void) | undefined;
}

interface Read {
  readonly log: TaskLog;
  readonly entries: readonly Entry[];
  readonly bytes: number;
  readonly error: unknown;
}

const nothing = (log: TaskLog): Read => ({ log, entries: [], bytes: 0, error: undefined });

/** Reads a log from its start, and the entries that are added to it. */
export function useScan(log: TaskLog): Scan {
  useLogVersion(log);
  const { total } = log;
  const [steps, setSteps] = useState(1);
  const [state, setRead] = useState(() => nothing(log));
  const read = state.log === log ? state : nothing(log);
  const { entries, bytes, error } = read;
  const isFull = entries.length >= steps * SCAN_ENTRIES || bytes >= steps * SCAN_BYTES;
  const isReading = entries.length < total && !isFull && error === undefined;
  useEffect(() => {
    if (!isReading) return;
    let isCurrent = true;
    const tell = (next: Read): void => {
      if (isCurrent) setRead(next);
    };
    more(log, entries.length, total).then(
      (added) => {
        const size = added.reduce((sum, entry) => sum + entry.bytes, 0);
        tell({ log, entries: [...entries, ...added], bytes: bytes + size, error: undefined });
      },
      (cause: unknown) => tell({ log, entries, bytes, error: cause }),
    );
    return () => {
      isCurrent = false;
    };
  }, [log, isReading, entries, bytes, total]);
  return {
    ...{ entries, isReading, error, isWhole: entries.length >= total },
    readOn: isFull && entries.length < total ? () => setSteps(steps + 1) : undefined,
  };
}

/** Entries that are added at once. */
const STEP = 1_000;

async function more(log: TaskLog, from: number, total: number): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (let position = from + 1; position <= Math.min(total, from + STEP); position++) {
    // One at a time: they come in chunks.
    const entry = log.peek(position) ?? (await log.get(position));
    if (entry === undefined) break;
    entries.push(entry);
  }
  if (entries.length === 0) throw new Error(`Entry ${from + 1} cannot be read.`);
  return entries;
}
