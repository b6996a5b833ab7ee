import type { ServerHistory } from "../../../src/store/postgres/server-history.js";

/** Connects to a primary of a timeline. One above the last is a move to another server. */
export function learnTimeline(history: ServerHistory, timeline: number): Promise<void> {
  const row = [String(timeline).padStart(8, "0"), "system"];
  return history.learn({ query: async () => ({ rows: [row] }) });
}
