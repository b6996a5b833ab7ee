import { TaskState as State, type TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { TurnAborter } from "../../agent/abort.js";
import { recoveryOf } from "../../agent/agent-calls.js";
import { makeTurn } from "../../agent/turn.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import type { AgentRegistration } from "../../card/agents.js";
import { type LogCause, type Logger, logFacts } from "../../core/log.js";
import { holds } from "../../store/check.js";
import type { Lease, TaskStore } from "../../store/task-store.js";
import { decodeEntry, stateAfter } from "../../task/entry.js";
import { viewTask } from "../../task/fold.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import { attemptsOf, notStarted, runsOf } from "../log/attempts.js";
import { statusDraft } from "../log/draft.js";
import { storedEntry } from "../log/fold-stored.js";
import { type Ended, type LeaseKeeper, LeaseLost } from "../log/lease-keeper.js";
import { isEnded } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import type { Execution } from "./execution.js";
import type { ExecutionSlots } from "./execution-slots.js";
import type { ExecutionSource, ExecutionStart } from "./execution-source.js";
import { cancelOpenSubTasks } from "./relayed.js";
import { storedTurn } from "./turn-queue.js";

/** An interrupted task and the dependencies of its recovery. */
interface Recovery {
  readonly log: TaskLog;
  readonly lease: Lease;
  /** The cause of the previous execution's end. */
  readonly ended: Ended;
  readonly leases: LeaseKeeper;
  readonly store: TaskStore;
  readonly served: AgentRegistration | undefined;
  readonly maxRestarts: number;
  readonly source: ExecutionSource;
  readonly logger: Logger;
  readonly slots: ExecutionSlots;
  readonly begin: (served: AgentRegistration, start: ExecutionStart) => Execution;
}

/**
 * Recovers a claimed task, so that no task stays WORKING indefinitely. The interrupted turn is rerun if its agent
 * allows it and its attempts are not exhausted; otherwise the task fails with a clear status. A turn that had paused is
 * not rerun. Waiting messages get their turns, and so does a turn that no agent has started.
 */
export async function recoverTask(recovery: Recovery): Promise<void> {
  const { log, lease, logger, served, leases } = recovery;
  if (isTerminal(log.fold.state)) return;
  const { position } = log.fold;
  const { turns, paused } = await turnsFrom(recovery, lease.turn);
  const [first, ...later] = turns;
  const open = paused ? later : turns;
  if (open.length === 0 && paused) {
    // A message that arrives at this moment gets its turn, too.
    if ((await log.setLease(lease, null, position)) || !holds(lease, log.head.lease)) return;
    return recoverTask(recovery);
  }
  const attempt = Math.max(1, runsOf(lease));
  // Only a turn that an agent started may have had effects that must not be repeated.
  const begins = paused || lease.attempt < 1;
  const again =
    first !== undefined && served !== undefined && (begins || mayRunAgain(recovery, served, ranBefore(first, attempt)));
  if (!again) return failTask(recovery, first);
  if (!leases.admit(log.taskId)) return leases.park(log.taskId, lease);
  const begun = begins ? leases.lease(open[0]?.position ?? 0) : lease;
  const start = await enter(recovery, begun, begins);
  if (start === undefined) return leases.ended(log.taskId);
  logger.debug({ ...logFacts({ ...first, agent: served.agent.card.name }), attempt }, "an interrupted turn runs again");
  const execution = recovery.begin(served, start);
  for (const turn of open) execution.add(turn === first && !begins ? ranBefore(turn, attempt) : turn);
  execution.begin(paused ? (first?.position ?? 0) : lease.turn - 1);
}

/**
 * Takes a slot, at once or queued, and sets a lease to match: a queued turn has not started, so a crash meanwhile does
 * not count. Returns undefined if another process has the task by now.
 */
async function enter(
  { log, lease, leases, slots }: Recovery,
  begun: Lease,
  begins: boolean,
): Promise<ExecutionStart | undefined> {
  const slot = slots.enterAccepted(slots.of(log.head.tenant, log.head.owner));
  const next = slot.isHeld ? begun : begins ? leases.waiting(begun.turn) : notStarted(lease);
  let isOurs = false;
  try {
    isOurs = next === lease || (await log.setLease(lease, next));
  } finally {
    if (!isOurs) slots.detach(slot);
  }
  return isOurs ? { lease: next, begun: next === begun ? undefined : begun, slot } : undefined;
}

function mayRunAgain(recovery: Recovery, served: AgentRegistration, request: TurnRequest): boolean {
  if (attemptsOf(recovery.lease) > recovery.maxRestarts + 1) return false;
  const turn = makeTurn(request, {
    task: viewTask(recovery.log.fold.task),
    initialMetadata: recovery.log.fold.initialMetadata,
    aborter: new TurnAborter(),
    source: recovery.source,
  });
  return recoveryOf(served.agent, turn) === "restart";
}

/** Returns a turn whose attempt tells the agent that it ran before, although an orderly shutdown counts no attempt. */
function ranBefore(turn: TurnRequest, attempt: number): TurnRequest {
  return { ...turn, attempt: Math.max(2, attempt) };
}

/** @param turn the interrupted turn */
async function failTask({ log, lease, source, ended }: Recovery, turn: TurnRequest | undefined): Promise<void> {
  const what = ended === "outage" ? "an outage of the task store" : "a crash of the server";
  const why = `The agent was stopped by ${what} before it finished.`;
  // Sub-tasks are canceled before the end is stored: after another crash nothing would cancel them.
  await cancelOpenSubTasks(source, log, { cause: turn });
  try {
    const draft = statusDraft(log.messageContext, State.FAILED, why, source.now());
    await log.append({ ...draft, traceParent: turn?.traceParent ?? "" }, { fence: lease });
  } catch (error) {
    // A client canceled it meanwhile, or another process has it.
    if (!isEnded(error) && !(error instanceof LeaseLost)) throw error;
  }
}

/** Turns in the log from a message on. */
interface Found {
  readonly turns: TurnRequest[];
  /** True if the first turn had paused. */
  readonly paused: boolean;
}

async function turnsFrom(recovery: Recovery, from: number): Promise<Found> {
  const { log, store } = recovery;
  const turns: TurnRequest[] = [];
  let state: TaskState | undefined;
  const limit = 1_000;
  for (let after = Math.max(0, from - 1); after < log.fold.position; ) {
    const entries = (await store.read({ taskId: log.taskId, after, limit })).map(decodeEntry);
    for (const entry of entries) {
      after = entry.position;
      const turn = storedTurn(log.head, entry);
      if (turn !== undefined) turns.push(turn);
      // A pause of an earlier turn, stored when this message was already waiting.
      if (entry.answers !== 0 && entry.answers < from) continue;
      state = stateAfter(entry.event) ?? state;
    }
    if (entries.length === 0) break;
  }
  return { turns, paused: state !== undefined && isInterrupted(state) };
}

/** A stored turn without an execution. */
interface StoredTurn {
  readonly taskId: string;
  /** Position of its message. */
  readonly position: number;
  readonly agentName: (tenant: string) => string | undefined;
}

/**
 * Returns the cause of a log line about a stored turn: the request that its message came with. Never rejects: the line
 * lacks what the store cannot read.
 */
export async function turnCause(store: TaskStore, { taskId, position, agentName }: StoredTurn): Promise<LogCause> {
  let agent: string | undefined;
  let message: LogEntry | undefined;
  try {
    const head = await store.head({ taskId });
    agent = head && agentName(head.tenant);
    message = await storedEntry(store, taskId, position);
  } catch {}
  return { requestId: message?.turn?.requestId, traceParent: message?.traceParent, taskId, agent };
}
