import { type StreamResponse, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../../core/call.js";
import { A2AError } from "../../core/error.js";
import type { Engine } from "../../engine/engine.js";
import type { LogPosition } from "../../engine/read/log-reader.js";
import type { TaskHandle, TaskView } from "../../engine/read/task-handle.js";
import { isTerminal } from "../../task/state.js";
import { weightOf } from "../../wire/marks.js";
import { checkRange, eventWithGeneration, type ResumePoint, resumeAfter } from "../resume.js";
import { type OperationParts, type ServiceMethods, scopeOf, taskResponse } from "./operation.js";

/** Follows a task that has not ended, from its current state or after a generation (specification 3.1.6). */
export function subscribeOperation({
  options,
  budget,
  subscriptions,
}: OperationParts): Pick<ServiceMethods, "subscribeToTask"> {
  const { engine } = options;

  /** Yields the first message of the stream and ends. A generator that continues would keep the task in memory. */
  async function* begin(taskId: string, call: Call): AsyncGenerator<StreamResponse, Followed, undefined> {
    const resume = resumeAfter(call);
    const { handle, now, release } = await budget.admitOpened(call, () =>
      beginSubscription(engine, call, taskId, resume),
    );
    let isCounted = false;
    let followed: Followed | undefined;
    try {
      // Counted after the caller is known to see the task, so that the limit reveals nothing about tasks of other
      // owners.
      subscriptions.begin(call, handle.taskId);
      isCounted = true;
      const { position, generation } = resume === undefined ? now : handle.positionAfter(resume.after);
      // This frame may be the last one that reaches a resuming client, so it must lead to the same position again.
      yield taskResponse(call, now.task, generation);
      followed = { handle, from: { position, generation } };
      return followed;
    } finally {
      release?.();
      if (followed === undefined) {
        if (isCounted) subscriptions.end(call, handle.taskId);
        handle.release();
      }
    }
  }

  return {
    async *subscribeToTask(request, { call }) {
      const { handle, from } = yield* begin(request.id, call);
      const events = handle.events(from, call.cancellation);
      try {
        handle.follow();
        while (await events.more()) {
          for (let event = events.take(); event !== undefined; event = events.take()) {
            const shown = eventWithGeneration(call, event);
            if (weightOf(shown) === undefined) yield shown;
            else yield* budget.admitEvent(call, shown);
          }
        }
      } finally {
        events.end();
        subscriptions.end(call, handle.taskId);
        handle.release();
      }
    },
  };
}

/** A task and the position after which a stream follows it. */
interface Followed {
  readonly handle: TaskHandle;
  readonly from: LogPosition;
}

/**
 * Opens a task that a client may subscribe to.
 *
 * @throws A2AError if the task has ended, or has not reached the generation to resume after
 */
async function beginSubscription(
  engine: Engine,
  call: Call,
  taskId: string,
  resume: ResumePoint | undefined,
): Promise<{ readonly handle: TaskHandle; readonly now: TaskView }> {
  const handle = await engine.open(scopeOf(call), taskId);
  try {
    const now = handle.now(resume === undefined ? {} : { historyLength: 0, artifacts: false });
    const over = isTerminal(now.task.status?.state ?? TaskState.UNSPECIFIED);
    if (over && (resume === undefined || resume.after === now.generation)) throw alreadyOver(taskId);
    if (resume !== undefined) checkRange(resume, now.generation);
    return { handle, now };
  } catch (error) {
    handle.release();
    throw error;
  }
}

function alreadyOver(taskId: string): A2AError {
  return new A2AError("UNSUPPORTED_OPERATION", "The task is over; there is nothing to subscribe to.", {
    metadata: { taskId },
  });
}
