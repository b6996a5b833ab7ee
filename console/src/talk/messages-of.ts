import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type ReadableTask, Role } from "../../../src/client/web.js";

/** Facts about a list of messages, kept so that an event that adds one does not read all of them again. */
interface Read {
  readonly keys: Set<unknown>;
  readonly history: readonly Message[];
}

const reads = new WeakMap<readonly Message[], Read>();

/**
 * Returns the messages of a task in their order: its history and its current status, and between them those that are
 * known here and that the agent does not name.
 */
export function messagesOf(known: readonly Message[], task: ReadableTask | undefined): readonly Message[] {
  if (task === undefined) return known;
  const history = task.history as readonly Message[];
  const current = task.status?.message as Message | undefined;
  const read = reads.get(known);
  if (read !== undefined && current !== undefined && isNext(read, history) && !read.keys.has(keyOf(current))) {
    read.keys.add(keyOf(current));
    return keep([...known, current], { keys: read.keys, history });
  }
  const merged = merge(known, history, current);
  return keep(merged, { keys: new Set(merged.map(keyOf)), history });
}

function keep(messages: readonly Message[], read: Read): readonly Message[] {
  reads.set(messages, read);
  return messages;
}

/** True if a history is the one that was read, or has one of the known messages more. */
function isNext({ history: before, keys }: Read, history: readonly Message[]): boolean {
  if (history[0] !== before[0] && before.length > 0) return false;
  const more = history.slice(before.length);
  return history.length >= before.length && more.length < 2 && more.every((each) => keys.has(keyOf(each)));
}

function merge(
  known: readonly Message[],
  history: readonly Message[],
  current: Message | undefined,
): readonly Message[] {
  const named = new Map(history.map((each) => [keyOf(each), each]));
  if (current !== undefined && !named.has(keyOf(current))) named.set(keyOf(current), current);
  // The first one began the task. Each later one follows the messages before it.
  const first: Message[] = [];
  const after = new Map<unknown, Message[]>();
  let missing = first;
  for (const message of known) {
    const key = keyOf(message);
    if (!named.has(key)) missing.push(message);
    else {
      missing = after.get(key) ?? [];
      after.set(key, missing);
    }
  }
  return [...first, ...[...named].flatMap(([key, each]) => [each, ...(after.get(key) ?? [])])];
}

/** Equal for the same message in two answers. */
function keyOf(message: Message): unknown {
  return message.messageId === "" ? message : `${message.role} ${message.messageId}`;
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
