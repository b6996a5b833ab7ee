import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { StepOrderError } from "../agent/errors.js";
import { pause } from "../core/async.js";
import { type Logger, silentLogger } from "../core/log.js";
import { memoryStore } from "../store/memory/index.js";
import { NO_HOLDER, type TaskStore } from "../store/task-store.js";
import { decodeEntry, encodeEntry, millisOf, responseOf } from "../task/entry.js";
import { TaskFold, viewTask } from "../task/fold.js";
import { type ReadableTask, readableTask } from "../task/plain.js";
import { isInterrupted } from "../task/state.js";
import { readExport, type TaskImport } from "../task/transfer.js";
import type { SimulatedProcess } from "./process.js";

/** Interval between polls for the end of a replayed turn, in milliseconds. */
const POLL_MS = 5;

/** A recorded turn, and the result of running it again. */
export interface ReplayedTurn {
  /** The recorded events of the turn, as streams show them. */
  readonly recorded: readonly StreamResponse[];
  /** The events of the agent under test. */
  readonly replayed: readonly StreamResponse[];
  /** The task after the replayed turn. */
  readonly task: ReadableTask;
}

type BeginProcess = (store: TaskStore, logger: Logger) => SimulatedProcess;

/**
 * Runs the turns of an exported task again, each after the entries that were recorded before it. The agent gets the same
 * messages, and the stored results of its steps.
 * @throws TransferError if the text is not a whole export; StepOrderError if the agent asks for other steps than
 * recorded, or in another order; Error for a task whose messages did not wait for each other
 */
export async function replayTask(
  text: string,
  begin: BeginProcess,
  logger: Logger = silentLogger,
): Promise<ReplayedTurn[]> {
  const record = await readExport(text);
  const turns: ReplayedTurn[] = [];
  for (const turn of turnsOf(record)) turns.push(await replayTurn(record, turn, begin, logger));
  return turns;
}

/** The recorded entries of a turn: those before its message, and those from the message to the next one. */
interface RecordedTurn {
  /** Position of its message. */
  readonly at: number;
  readonly before: readonly LogEntry[];
  readonly own: readonly LogEntry[];
}

function turnsOf({ entries, fold: { messages } }: TaskImport): RecordedTurn[] {
  const before = new TaskFold();
  return messages.map((at, index) => {
    const end = (messages[index + 1] ?? Number.POSITIVE_INFINITY) - 1;
    for (const entry of entries.slice(before.position, at - 1)) before.apply(entry);
    if (at > 1 && !isInterrupted(before.state)) {
      throw new Error(`The message at position ${at} came while the agent worked, so the turn cannot be replayed.`);
    }
    return { at, before: entries.slice(0, at), own: entries.slice(at, end) };
  });
}

async function replayTurn(
  { taskId, owner }: TaskImport,
  { at, before, own }: RecordedTurn,
  begin: BeginProcess,
  logger: Logger,
): Promise<ReplayedTurn> {
  const store = memoryStore();
  const start = logBefore(before, own);
  const fold = new TaskFold();
  for (const entry of start) fold.apply(entry);
  const { position, generation, state } = fold;
  const { contextId, status } = fold.task;
  const head = { taskId, tenant: "", owner, contextId, state, statusTime: millisOf(status?.timestamp) };
  // No process has started the turn, so the process that claims it runs it without asking `recover`.
  const lease = { holder: NO_HOLDER, turn: at, attempt: -1 };
  const entries = start.map(encodeEntry);
  await store.append({ head: { ...head, position, generation }, expected: 0, creates: true, entries, lease });
  const failures: StepOrderError[] = [];
  const running = begin(store, noting(failures, logger));
  try {
    await running.start();
    await leaseEnd(store, taskId);
  } finally {
    await running.end();
  }
  const [failure] = failures;
  if (failure !== undefined) throw failure;
  const replayed = (await store.read({ taskId, after: position, limit: Number.MAX_SAFE_INTEGER })).map(decodeEntry);
  for (const entry of replayed) fold.apply(entry);
  await store.close();
  return { recorded: eventsOf(own), replayed: eventsOf(replayed), task: readableTask(viewTask(fold.task)) };
}

/**
 * The log at the beginning of a turn, followed by its steps, which the agent gets back. The state of the conversation is
 * empty, so the steps say nothing of changes to it.
 */
function logBefore(before: readonly LogEntry[], own: readonly LogEntry[]): LogEntry[] {
  const log = [...before];
  const last = log.at(-1);
  for (const entry of own) {
    if (entry.event.case !== "step") continue;
    const { changes: _, ...step } = entry;
    log.push({ ...step, position: log.length + 1, generation: last?.generation ?? 0 });
  }
  return log;
}

function eventsOf(entries: readonly LogEntry[]): StreamResponse[] {
  return entries.flatMap((entry) => {
    const response = responseOf(entry);
    return response === undefined ? [] : [create(StreamResponseSchema, { payload: response.payload })];
  });
}

async function leaseEnd(store: TaskStore, taskId: string): Promise<void> {
  while ((await store.head({ taskId }))?.lease != null) await pause(POLL_MS, undefined);
}

/** A logger that notes the errors of steps, which clients of the agent do not see. */
function noting(failures: StepOrderError[], logger: Logger): Logger {
  const error: Logger["error"] = (fields, message) => {
    const { err } = fields as { readonly err?: unknown };
    if (err instanceof StepOrderError) failures.push(err);
    logger.error(fields, message);
  };
  return {
    ...logger,
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error,
  };
}
