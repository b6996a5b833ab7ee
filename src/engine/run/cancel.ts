import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { boundedCall } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import type { Inquiry, SignalMember } from "../../signals/signals.js";
import { isTerminal } from "../../task/state.js";
import { statusDraft } from "../log/draft.js";
import { isEnded, unavailable } from "../log/outage.js";
import type { TaskLog } from "../log/task-log.js";
import { type TaskView, taskViewOf } from "../read/task-handle.js";
import type { Executions } from "./executions.js";
import { cancelOpenSubTasks } from "./relayed.js";

/**
 * Maximum number of attempts of a cancel. It retries if another end of the task was in flight but is then not stored.
 */
const MAX_TRIES = 3;

/** Times of a cancel that another process carries out, in milliseconds. */
export const cancelTimes = {
  /** Time for the executing process to answer. A process that does not answer counts as dead. */
  answerMs: 1_000,
  /** Time after the grace period for the end of the task to be stored and seen here. */
  slackMs: 2_000,
};

/** Answers to a request to cancel a task: the agent has its grace period, or the process does not execute the task. */
const answers = ["canceling", "idle"] as const;

/** Asks the process that executes a task to cancel it, with the grace period of its agent. */
const cancelInquiry: Inquiry<{ readonly taskId: string }, (typeof answers)[number]> = {
  name: "cancel",
  readQuestion: (value) => {
    const { taskId } = (value ?? {}) as { readonly taskId?: unknown };
    return typeof taskId === "string" ? { taskId } : undefined;
  },
  readAnswer: (value) => answers.find((each) => each === value),
};

/**
 * Cancels tasks that execute here when other processes ask for it.
 * @param note logs that an execution could not be ended
 */
export function answerCancels(signals: SignalMember, executions: Executions, note: (error: unknown) => void): void {
  signals.answer(cancelInquiry, async ({ taskId }) => {
    const execution = executions.get(taskId);
    if (execution === undefined) return "idle";
    execution.cancel().catch(note);
    return "canceling";
  });
}

/**
 * Cancels a task and returns it: canceled, or ended by its agent within the grace period (specification 3.1.5). If
 * another process executes it, that process is asked to cancel it. If that process does not answer, or does not end the
 * task in time, the task is canceled here: the end of a task ends its lease.
 * @param traceParent of the call, stored with the status if no execution ends the task
 * @throws A2AError TASK_NOT_CANCELABLE, UNAVAILABLE
 */
export async function cancelTask(log: TaskLog, executions: Executions, traceParent: string): Promise<TaskView> {
  const { taskId } = log;
  const { source } = executions;
  const shown = log.messageContext.taskId;
  let isAsked = false;
  try {
    // Only a stored end counts.
    if (isTerminal(log.plannedState)) await log.stored();
    if (isTerminal(log.fold.state)) throw notCancelable(shown);
    isAsked = await askHolder(log, executions);
    if (isAsked && (await isEndedWithin(log, source.limits.cancelGraceMs + cancelTimes.slackMs)))
      return taskViewOf(log);
    // Sub-tasks are canceled first: if a crash interrupts the cancel, the client's retry reaches all of them. While an
    // agent in another process may run, they are canceled later: it would notice their end and end the task first.
    const isElsewhere = executions.mayRunElsewhere(log);
    if (executions.get(taskId) === undefined && !isElsewhere) await cancelOpenSubTasks(source, log);
    await executions.get(taskId)?.cancel();
    // An end in flight may still be rejected, for example because its execution has released the lease: then this
    // cancel counts.
    for (let tries = 0; tries < MAX_TRIES && !isTerminal(log.fold.state); tries++) {
      const ends = isTerminal(log.plannedState);
      if (!ends) {
        const draft = statusDraft(log.messageContext, TaskState.CANCELED, undefined, source.now());
        await log.append({ ...draft, traceParent });
      }
      await log.stored();
    }
    if (!isTerminal(log.fold.state)) throw unavailable(undefined);
    // The other process may be dead.
    if (isElsewhere && log.fold.state === TaskState.CANCELED) await cancelOpenSubTasks(source, log);
    return taskViewOf(log);
  } catch (error) {
    if (!isEnded(error)) throw error;
    // The asked process has ended the task meanwhile.
    if (isAsked && isTerminal(log.fold.state)) return taskViewOf(log);
    // The task ended after it was checked.
    throw notCancelable(shown);
  }
}

/** Asks the process that executes a task to cancel it. Resolves to false if no known process executes it. */
async function askHolder(log: TaskLog, executions: Executions): Promise<boolean> {
  const { signals } = executions;
  const holder = executions.holderElsewhere(log);
  if (signals === undefined || holder === undefined) return false;
  const answer = await signals.ask(holder, cancelInquiry, { taskId: log.taskId }, cancelTimes.answerMs);
  return answer === "canceling";
}

/** Waits until the end of a task is seen here: signals announce it, and polling finds it. */
function isEndedWithin(log: TaskLog, ms: number): Promise<boolean> {
  const begin = (resolve: (isEnded: boolean) => void): (() => void) => {
    const check = (): void => {
      if (isTerminal(log.fold.state)) resolve(true);
      else log.onChange(check);
    };
    queueMicrotask(check);
    return () => log.offChange(check);
  };
  return boundedCall(begin, { timeout: { ms, result: () => isTerminal(log.fold.state) } });
}

function notCancelable(taskId: string): A2AError {
  return new A2AError("TASK_NOT_CANCELABLE", "The task is over and cannot be canceled.", { metadata: { taskId } });
}
