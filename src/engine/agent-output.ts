import { AgentError } from "../agent/agent.js";
import { InvalidAgentEvent } from "../agent/checked-copies.js";
import type { AgentEvent } from "../agent/event.js";
import { A2AError } from "../core/error.js";
import { newId } from "../core/ids.js";
import type { Logger } from "../core/log.js";

/** Characters of a reason for a failure: it is stored however large its task is. */
const MAX_REASON = 10_000;

const INVALID_ANSWER = "The agent's answer is not valid:";

/** Lets an agent clean up after its last event; an error in that is logged, and nothing more. */
export async function closeIterator(iterator: AsyncIterator<AgentEvent>, logger: Logger): Promise<void> {
  try {
    await iterator.return?.();
  } catch (error) {
    logger.warn({ err: error }, "an agent threw after its last event");
  }
}

/** What the client may know of an error (specification 3.3.2, 13.4): the text of an AgentError, or a reference. */
export function failureText(error: unknown, logger: Logger, taskId: string): string {
  const text = textFor(error);
  if (text?.startsWith(INVALID_ANSWER)) logger.error({ taskId, why: text }, "an agent's answer is not valid");
  if (text !== undefined) return text;
  const reference = newId();
  logger.error({ err: error, reference, taskId }, "an agent failed unexpectedly");
  return `The agent failed unexpectedly. Reference: ${reference}`;
}

/** Whether a value looks like an event; authors without a type checker yield anything. */
export function isEvent(value: unknown): value is AgentEvent {
  return typeof value === "object" && value !== null && "kind" in value;
}

/** An agent may throw any value, also one that throws when it is read. */
function textFor(error: unknown): string | undefined {
  try {
    if (error instanceof A2AError && error.reason === "TASK_TOO_LARGE") return error.message;
    if (error instanceof InvalidAgentEvent) return `${INVALID_ANSWER} ${error.message}.`;
    if (!(error instanceof AgentError) || typeof error.message !== "string") return undefined;
    return error.message.length <= MAX_REASON ? error.message : `${error.message.slice(0, MAX_REASON)}…`;
  } catch {
    return undefined;
  }
}
