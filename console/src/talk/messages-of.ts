import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type ReadableTask, Role } from "../../../src/client/web.js";

/**
 * Returns the messages of a task in their order: its history and its current status, and between them those that are
 * known here and that the agent does not name.
 */
export function messagesOf(known: readonly Message[], task: ReadableTask | undefined): readonly Message[] {
  if (task === undefined) return known;
  const named: Message[] = [...(task.history as Message[])];
  const current = task.status?.message as Message | undefined;
  if (current !== undefined && !named.some((each) => isSame(each, current))) named.push(current);
  const missing = known.filter((message) => !named.some((each) => isSame(each, message)));
  if (missing.length === 0) return named;
  const merged = [...named];
  for (const message of missing) {
    const before = known[known.indexOf(message) - 1];
    const at = before === undefined ? -1 : merged.findIndex((each) => isSame(each, before));
    // The first one began the task. Later ones come after what was known before them, and after a question that only the status has.
    const place = before === undefined ? 0 : at < 0 ? merged.length : at + 1;
    merged.splice(place, 0, message);
  }
  return merged;
}

function isSame(one: Message, other: Message): boolean {
  if (one === other) return true;
  return one.messageId !== "" && one.messageId === other.messageId && one.role === other.role;
}

/** Role of a message in its task. */
export type Saying = "own" | "said" | "progress";

/**
 * Tells own messages from those of the agent, and of these the questions and results from progress: a question is
 * followed by an answer, and the last message of a task that is at rest is its result or its question.
 */
export function sayingOf(messages: readonly Message[], at: number, isAtRest: boolean): Saying {
  const message = messages[at];
  if (message?.role === Role.USER) return "own";
  const next = messages[at + 1];
  if (next === undefined) return isAtRest ? "said" : "progress";
  return next.role === Role.USER ? "said" : "progress";
}
