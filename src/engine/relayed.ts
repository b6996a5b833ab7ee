import { create } from "@bufbuild/protobuf";
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, type Relay, RelaySchema } from "../../gen/parley/log/v1/log_pb.js";
import type { RelayedEvent, RelayMark } from "../agent/delegation.js";
import type { TurnRequest } from "../agent/turn.js";
import type { TaskStore } from "../store/task-store.js";
import { decodeEntry } from "../task/entry.js";
import type { ExecutionSource } from "./execution.js";
import type { TaskLog } from "./task-log.js";

/** Entries of one read. */
const READ_ENTRIES = 1_000;

/** A mark as it is stored with its event. */
export function storedMark(mark: RelayMark): Relay {
  return create(RelaySchema, mark);
}

/** The mark of an entry, as it was yielded. */
export function markOf({ delegation, origin, turn, agent, taskId, generation, messageId, state }: Relay): RelayMark {
  return { delegation, origin, turn, agent, taskId, generation, messageId, state };
}

/**
 * What was relayed for a turn before, and by the turns before it whose question it answers: read from the log, from the message
 * before it on, or from the one that began it all. The first attempt of a first message reads nothing.
 */
export async function relayedBefore(
  store: TaskStore,
  log: TaskLog | undefined,
  turn: TurnRequest,
): Promise<readonly RelayedEvent[]> {
  if (log === undefined || (turn.position <= 1 && turn.attempt === 1)) return [];
  const { messages } = log.fold;
  const before = messages.filter((position) => position < turn.position).at(-1) ?? turn.position;
  const { taskId } = log;
  const found = await relayedBetween(store, taskId, before - 1, log.fold.position);
  const origin = Math.min(...found.map(({ mark }) => mark.origin));
  if (found.length === 0 || origin >= before) return found;
  return [...(await relayedBetween(store, taskId, origin - 1, before - 1)), ...found];
}

/**
 * Lets the other agent's task go whose question a task waited with, when it ended without the answer. Beside everything else: what
 * cannot be read, or reached, is left alone.
 */
export function leaveOther({ outgoing, logger }: ExecutionSource, log: TaskLog, pausedAt: number): void {
  if (outgoing === undefined) return;
  const read = async (): Promise<void> => {
    const [entry] = await log.pages.after(pausedAt - 1);
    if (entry?.relay !== undefined) outgoing.leave(markOf(entry.relay));
  };
  read().catch((error: unknown) => {
    logger.warn(
      { err: error, taskId: log.taskId },
      "what another agent does for a task that is over could not be found out",
    );
  });
}

/** The message that was accepted at a position of the turn's task. */
export async function messageAt(store: TaskStore, turn: TurnRequest, position: number): Promise<Message> {
  if (position === turn.position) return turn.message;
  const taskId = turn.keptAs ?? turn.message.taskId;
  const [bytes] = await store.read({ taskId, after: position - 1, limit: 1 });
  const event = bytes && decodeEntry(bytes).event;
  const message =
    event?.case === "created" ? event.value.history.at(-1) : event?.case === "message" ? event.value : undefined;
  if (message === undefined) throw new Error(`Entry ${position} of task ${taskId} is no message.`);
  return message;
}

async function relayedBetween(store: TaskStore, taskId: string, after: number, to: number): Promise<RelayedEvent[]> {
  const found: RelayedEvent[] = [];
  for (let at = after; at < to; ) {
    const read = await store.read({ taskId, after: at, limit: Math.min(READ_ENTRIES, to - at) });
    if (read.length === 0) break;
    at += read.length;
    for (const bytes of read) {
      const entry = decodeEntry(bytes);
      if (entry.relay !== undefined) found.push({ mark: markOf(entry.relay), message: statusMessage(entry) });
    }
  }
  return found;
}

function statusMessage({ event }: LogEntry): RelayedEvent["message"] {
  return event.case === "status" ? event.value.status?.message : undefined;
}
