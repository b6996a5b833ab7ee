import { exchange, type Outcome } from "../cases/exchange.js";
import type { World } from "../cases/world.js";
import { seen, seenEvents } from "./seen.js";
import { type Said, type Speaker, withHeaders } from "./speakers.js";

type Headers = Readonly<Record<string, string>>;

/**
 * Starts a task that keeps working, and returns its id. If a version cannot send without waiting, the client leaves the
 * stream.
 */
export async function begin(world: World, speaker: Speaker, said: Said, headers: Headers = {}): Promise<string> {
  const leave = speaker.leave?.(said);
  const outcome =
    leave === undefined
      ? await exchange(withHeaders(speaker.stream(said), headers), world, { leaveAfter: 1 })
      : await exchange(withHeaders(leave, headers), world);
  return idOf(outcome);
}

/** Says something that is answered with a task, and gives its id. */
export async function say(world: World, speaker: Speaker, said: Said, headers: Headers = {}): Promise<string> {
  return idOf(await exchange(withHeaders(speaker.send(said), headers), world));
}

function idOf(outcome: Outcome): string {
  const { taskId } = outcome.events === undefined ? seen(outcome) : (seenEvents(outcome)[0] ?? { taskId: undefined });
  if (taskId === undefined) throw new Error(`no task began: ${JSON.stringify(outcome)}`);
  return taskId;
}
