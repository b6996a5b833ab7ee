import { create } from "@bufbuild/protobuf";
import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Relay, RelaySchema } from "../../../gen/parley/log/v1/log_pb.js";
import type { Turn } from "../../agent/agent.js";
import { isSend, type RelayCheckpoint, type RelayedEvent } from "../../agent/delegation.js";
import { endCalls, endSpan, type TurnSource, turnCalls } from "../../agent/turn.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { within } from "../../core/async.js";
import type { Limits } from "../../core/limits.js";
import { type LogCause, type Logger, logFacts } from "../../core/log.js";
import type { TaskStore } from "../../store/task-store.js";
import { decodeEntry } from "../../task/entry.js";
import { RelayCheckpoints, type RelayedEntry } from "../../task/relay-checkpoints.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import { storedEntry } from "../log/fold-stored.js";
import type { TaskLog } from "../log/task-log.js";
import type { Tasks } from "../read/tasks.js";

/** Dependencies for canceling open sub-tasks. */
interface SubTaskSource extends Pick<TurnSource, "outgoing"> {
  readonly store: TaskStore;
  readonly limits: Pick<Limits, "cancelGraceMs">;
  readonly logger: Logger;
}

/** Options of `cancelOpenSubTasks`. */
interface CancelSubTasksOptions {
  /** Tells which sub-tasks the running turn cancels itself. Default: none. */
  readonly isOwn?: (checkpoint: RelayCheckpoint) => boolean;
  /** The turn that ends, for log lines. */
  readonly cause?: LogCause | undefined;
}

const READ_ENTRIES = 1_000;

/** Converts a checkpoint to its stored form. */
export function storedCheckpoint(checkpoint: RelayCheckpoint): Relay {
  return create(RelaySchema, checkpoint);
}

function checkpointOf({ $typeName: _name, $unknown: _unknown, ...checkpoint }: Relay): RelayCheckpoint {
  return checkpoint;
}

/**
 * Returns the events relayed in earlier attempts of a turn and in all turns before it. Reads nothing for the first
 * attempt of a first message.
 */
export async function relayedBefore(
  store: TaskStore,
  log: TaskLog | undefined,
  turn: TurnRequest,
): Promise<readonly RelayedEvent[]> {
  if (log === undefined || (turn.position <= 1 && turn.attempt === 1)) return [];
  return (await relaysOf(store, log)).map(({ relay, message }) => ({ checkpoint: checkpointOf(relay), message }));
}

/** Newest tasks of a conversation that are searched for the context of another agent. */
const CONVERSATION_TASKS = 50;

/** See `CallingTurn.contextBefore`. Searches the newest tasks of the turn's context, of its tenant and owner. */
export async function contextBefore(
  { store, tasks }: { readonly store: TaskStore; readonly tasks: Pick<Tasks, "relays"> },
  { tenant, caller: { owner }, message: { contextId }, taskId }: TurnRequest,
  agent: string,
  delegation: string,
): Promise<string | undefined> {
  const { heads } = await store.list({ tenant, owner, contextId, limit: CONVERSATION_TASKS });
  for (const head of heads) {
    if (head.taskId === taskId) continue;
    const relays = await tasks.relays({ tenant, owner }, head.taskId);
    const known = relays?.all().filter(({ relay }) => relay.agent === agent && relay.contextId !== "") ?? [];
    const last = known.findLast(({ relay }) => relay.delegation === delegation) ?? known.at(-1);
    if (last !== undefined) return last.relay.contextId;
  }
  return undefined;
}

/** Returns the relay checkpoints of a task. Reads its log if its snapshot is older than the checkpoints in snapshots. */
async function relaysOf(store: TaskStore, { taskId, fold }: TaskLog): Promise<readonly RelayedEntry[]> {
  if (fold.knowsRelays) return fold.relays?.all() ?? [];
  const relays = new RelayCheckpoints();
  for (let at = 0; at < fold.position; ) {
    const read = await store.read({ taskId, after: at, limit: READ_ENTRIES });
    if (read.length === 0) break;
    at += read.length;
    for (const bytes of read) relays.add(decodeEntry(bytes));
  }
  return relays.all();
}

/**
 * Cancels a task's open sub-tasks. Waits for the other agents' answers for at most half the cancel grace period, and
 * never rejects: sub-tasks that cannot be read or reached are skipped.
 */
export async function cancelOpenSubTasks(
  { outgoing, logger, limits, store }: SubTaskSource,
  log: TaskLog,
  { isOwn = () => false, cause: { requestId, traceParent } = {} }: CancelSubTasksOptions = {},
): Promise<void> {
  if (outgoing === undefined || (log.fold.knowsRelays && log.fold.relays === undefined)) return;
  const { taskId, tenant } = log.head;
  const task = { requestId, traceParent, taskId, tenant };
  const cancelOpen = async (): Promise<void> => {
    const checkpoints = openIn(await relaysOf(store, log));
    await Promise.all(
      checkpoints
        .filter((checkpoint) => !isOwn(checkpoint))
        .map((checkpoint) => outgoing.cancelSubTask(checkpoint, task)),
    );
  };
  const canceling = cancelOpen().catch((error: unknown) => {
    logger.warn({ err: error, ...logFacts(task) }, "the sub-tasks of an ended task could not be read");
  });
  await within(limits.cancelGraceMs / 2, canceling);
}

/** Returns the last checkpoint of each sub-task that may be open. */
function openIn(entries: readonly RelayedEntry[]): RelayCheckpoint[] {
  const checkpoints = new Map<string, RelayCheckpoint>();
  for (const { relay } of entries) checkpoints.set(`${relay.origin}.${relay.delegation}`, checkpointOf(relay));
  return [...checkpoints.values()].filter(
    (checkpoint) => !isTerminal(checkpoint.state) && (checkpoint.taskId !== "" || isSend(checkpoint)),
  );
}

/** Returns the message accepted at a position of the turn's task. */
export async function messageAt(store: TaskStore, turn: TurnRequest, position: number): Promise<Message> {
  if (position === turn.position) return turn.message;
  const { taskId } = turn;
  const event = (await storedEntry(store, taskId, position))?.event;
  const message =
    event?.case === "created" ? event.value.history.at(-1) : event?.case === "message" ? event.value : undefined;
  if (message === undefined) throw new Error(`Entry ${position} of task ${taskId} is not a message.`);
  return message;
}

/** The sub-tasks of one execution's task. */
export class SubTasks {
  readonly #source: SubTaskSource;
  readonly #log: TaskLog;
  /** The present turn, or the last one. */
  #turn: Turn | undefined;

  constructor(source: SubTaskSource, log: TaskLog) {
    this.#source = source;
    this.#log = log;
  }

  beginTurn(turn: Turn): void {
    this.#turn = turn;
  }

  endTurn(): void {
    this.endSpan();
    if (this.#turn !== undefined) endCalls(this.#turn, isInterrupted(this.#log.plannedState));
  }

  /** Ends the span of the turn, whose calls may still be open. */
  endSpan(): void {
    if (this.#turn !== undefined) endSpan(this.#turn, this.#log.plannedState);
  }

  /** True if the end of the task may have to wait for other agents. */
  get mayBeOpen(): boolean {
    const { relays, knowsRelays } = this.#log.fold;
    const isCalling = this.#turn !== undefined && turnCalls(this.#turn) !== undefined;
    return this.#source.outgoing !== undefined && (isCalling || relays !== undefined || !knowsRelays);
  }

  /** Cancels the sub-tasks of earlier turns and attempts that this turn has not continued. */
  cancelEarlier(): Promise<void> {
    const calls = this.#turn && turnCalls(this.#turn);
    return cancelOpenSubTasks(this.#source, this.#log, { isOwn: (checkpoint) => calls?.sees(checkpoint) === true });
  }

  /** Cancels all sub-tasks before the end of the task is stored: a crash after that would leave them running. */
  async cancelAll(): Promise<void> {
    const calls = this.#turn && turnCalls(this.#turn);
    const own = calls && within(this.#source.limits.cancelGraceMs / 2, calls.cancelSubTasks());
    await Promise.all([own, this.cancelEarlier()]);
  }
}

/** Entries per read. The question is mostly the entry right before its answer. */
const QUESTION_ENTRIES = 8;

/**
 * Returns the agent's own question that a message answers. A message that was accepted before the question does not
 * answer it, although its turn runs after it, nor does a message after another agent's question, which was relayed.
 */
export async function questionBefore(
  store: TaskStore,
  { taskId, position }: TurnRequest,
): Promise<Message | undefined> {
  for (let before = position; before > 1; before -= QUESTION_ENTRIES) {
    const after = Math.max(0, before - 1 - QUESTION_ENTRIES);
    const read = await store.read({ taskId, after, limit: before - 1 - after });
    for (const bytes of read.reverse()) {
      const { event, relay } = decodeEntry(bytes);
      if (event.case === "created") return undefined;
      if (event.case !== "status") continue;
      const { status } = event.value;
      const isQuestion = relay === undefined && status !== undefined && isInterrupted(status.state);
      return isQuestion ? status.message : undefined;
    }
  }
  return undefined;
}
