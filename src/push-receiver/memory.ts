import { evictOldest } from "../core/maps.js";

/** Record of a handled notification. */
export interface PushMark {
  /** Id of its event, which is the same in every attempt and form. */
  readonly id: string;
  /**
   * Key of an ordered sequence: the events of one task for one configuration. Undefined if the sender does not name it.
   */
  readonly line: string | undefined;
  /** Its place in that order. */
  readonly generation: number | undefined;
  /**
   * Time until which an intercepted notification could be replayed, in milliseconds since 1970; a sender may retry for
   * a day.
   */
  readonly keepUntil: number;
}

/**
 * Relation of a notification to those handled before: `new`, `repeat`, or `older` (a later one of its task was handled,
 * this one was not).
 */
export type PushOrder = "new" | "repeat" | "older";

/** Remembers handled notifications. A memory in a database serves several processes and survives restarts. */
export interface PushMemory {
  /** Order of a notification relative to the stored marks. */
  order(mark: PushMark): PushOrder | Promise<PushOrder>;
  /** Stores the mark of a handled notification. */
  remember(mark: PushMark): void | Promise<void>;
}

/**
 * Remembers handled notifications in this process.
 *
 * @param most maximum number of events, and of tasks, that are remembered; the oldest are evicted first.
 */
export function pushMemory(most = 100_000): PushMemory {
  const ids = new Map<string, true>();
  const newest = new Map<string, number>();
  return {
    order: ({ id, line, generation }) => {
      if (ids.has(id)) return "repeat";
      const last = line === undefined ? undefined : newest.get(line);
      if (last === undefined || generation === undefined || generation > last) return "new";
      return generation === last ? "repeat" : "older";
    },
    remember: ({ id, line, generation }) => {
      ids.delete(id);
      evictOldest(ids, most);
      ids.set(id, true);
      if (line === undefined || generation === undefined) return;
      const last = Math.max(generation, newest.get(line) ?? generation);
      newest.delete(line);
      evictOldest(newest, most);
      newest.set(line, last);
    },
  };
}
