import type { SubTask } from "../../src/agent/delegation.js";
import type { AgentEvent } from "../../src/agent/event.js";

/** Yields events of several delegations in the order of their arrival. */
export async function* merged(
  all: AsyncGenerator<AgentEvent, SubTask>[],
  ended: (task: SubTask) => void,
): AsyncGenerator<AgentEvent, void, undefined> {
  const next = async (from: AsyncGenerator<AgentEvent, SubTask>) => ({ from, result: await from.next() });
  const waiting = new Map(all.map((each) => [each, next(each)]));
  try {
    while (waiting.size > 0) {
      const { from, result } = await Promise.race(waiting.values());
      waiting.delete(from);
      if (result.done) ended(result.value);
      else {
        yield result.value;
        waiting.set(from, next(from));
      }
    }
  } finally {
    // Delegations that still run are drained.
    await Promise.allSettled(waiting.values());
  }
}
