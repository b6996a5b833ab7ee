import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { isTerminal } from "../task/state.js";
import { statusDraft } from "./draft.js";
import type { Executions } from "./executions.js";
import { unavailable } from "./outage.js";
import { leaveOthers } from "./relayed.js";
import { type TaskView, taskViewOf } from "./task-handle.js";
import type { TaskLog } from "./task-log.js";

/** How often a cancel is tried that an end which was under way kept from being stored. */
const MAX_TRIES = 3;

/**
 * Cancels a task and returns it as it is then: canceled, or ended by its agent within the grace (specification 3.1.5).
 * @param now milliseconds since the epoch
 * @throws A2AError TASK_NOT_CANCELABLE, UNAVAILABLE
 */
export async function cancelTask(log: TaskLog, executions: Executions, now: () => number): Promise<TaskView> {
  const { taskId } = log;
  const shown = log.place.taskId;
  try {
    // Over is what is stored as over.
    if (isTerminal(log.plannedState)) await log.stored();
    if (isTerminal(log.fold.state)) throw notCancelable(shown);
    // Sub-tasks are canceled first: a client whose cancel was cut off by a crash sends it again, and it reaches all of them. An agent at work
    // in another process is not to see that, and to end the task before its client does.
    const isElsewhere = executions.mayRunElsewhere(log);
    if (executions.get(taskId) === undefined && !isElsewhere) await leaveOthers(executions.source, log);
    await executions.get(taskId)?.cancel();
    // An end that is under way may yet be refused, as when its execution has let go of the lease: then this one counts.
    for (let tries = 0; tries < MAX_TRIES && !isTerminal(log.fold.state); tries++) {
      const ends = isTerminal(log.plannedState);
      if (!ends) await log.append(statusDraft(log.place, TaskState.CANCELED, undefined, now()));
      await log.stored();
    }
    if (!isTerminal(log.fold.state)) throw unavailable(undefined);
    // That process may be dead.
    if (isElsewhere && log.fold.state === TaskState.CANCELED) await leaveOthers(executions.source, log);
    return taskViewOf(log);
  } catch (error) {
    // The task was ended between the look and the act.
    if (error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION") throw notCancelable(shown);
    throw error;
  }
}

function notCancelable(taskId: string): A2AError {
  return new A2AError("TASK_NOT_CANCELABLE", "The task is over and cannot be canceled.", { metadata: { taskId } });
}
