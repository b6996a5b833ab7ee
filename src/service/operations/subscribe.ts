import { type StreamResponse, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../../core/call.js";
import { A2AError, invalid } from "../../core/error.js";
import type { Engine } from "../../engine/engine.js";
import type { LogPosition } from "../../engine/read/log-reader.js";
import type { TaskHandle, TaskView } from "../../engine/read/task-handle.js";
import { isTerminal } from "../../task/state.js";
import { weightOf } from "../../wire/marks.js";
import { eventWithGeneration, type ResumePoint, resumeAfter } from "../resume.js";
import { type OperationParts, type ServiceMethods, scopeOf, taskResponse } from "./operation.js";

/** Following a task that is not over, from its present state or after a generation (specification 3.1.6). */
export function subscribeOperation({
  options,
  budget,
  subscriptions,
}: OperationParts): Pick<ServiceMethods, "subscribeToTask"> {
  const { engine } = options;

  /** The first message of the stream. It ends with that: a generator that goes on would keep the task in memory. */
  async function* begin(taskId: string, call: Call): AsyncGenerator<StreamResponse, Followed, undefined> {
    const resume = resumeAfter(call);
    const { handle, now, release } = await budget.admitOpened(call, () =>
      beginSubscription(engine, call, taskId, resume),
    );
    let isCounted = false;
    let followed: Followed | undefined;
    try {
      // Only now, when the caller is known to see the task: the limit says nothing about tasks of others.
      subscriptions.begin(call, handle.taskId);
      isCounted = true;
      const { position, generation } =
        resume === undefined ? now : { position: resume.after, generation: resume.after };
      // A client that resumes must find the same place again if this frame is the last one that reaches it.
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

/** A task that a stream follows, from a place on. */
interface Followed {
  readonly handle: TaskHandle;
  readonly from: LogPosition;
}

/**
 * Opens a task that a client may subscribe to.
 *
 * @throws A2AError where the task is over, or does not have the generation to resume after.
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

function checkRange({ after, field }: ResumePoint, generation: number): void {
  if (after < 1 || after > generation)
    throw invalid([{ field, description: `${after} is not from 1 to ${generation}` }]);
}
