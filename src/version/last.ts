import { TaskState, type TaskStatusUpdateEvent } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { marksOf } from "../wire/marks.js";

/** States that end a stream of a version before 1.0: the task has ended, or waits for its client. */
const endings: ReadonlySet<TaskState> = new Set([
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
  TaskState.INPUT_REQUIRED,
  TaskState.AUTH_REQUIRED,
]);

/** Returns true for the last status event of its stream, which versions before 1.0 mark in the event (`final`). */
export function isLast(event: TaskStatusUpdateEvent): boolean {
  return marksOf(event)?.isLast ?? endings.has(event.status?.state ?? TaskState.UNSPECIFIED);
}
