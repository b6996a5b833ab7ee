import type { StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { evictOldest } from "../../core/maps.js";
import type { Update } from "../../task/answer.js";
import { isTerminal } from "../../task/state.js";
import { EXTENSIONS_PARAMETER, RESUME_EXTENSION } from "../../wire/service-params.js";
import type { ClientCore } from "../calls/core.js";
import { ClientFold } from "./fold.js";

/** The parts of a notification that the client needs, as in `PushEvent` of `parley-a2a/push-receiver`. */
export interface Notification {
  readonly response: StreamResponse;
  readonly taskId: string;
  /** Generation of the change; undefined if the sender has none. */
  readonly generation: number | undefined;
}

/** Converts a webhook's notifications to updates like those of a stream. */
export interface NotifiedTasks {
  /**
   * Applies a notification; those of one task are applied in order. If earlier ones are missing, because another
   * process received them or the task was evicted, the task is read.
   *
   * @returns undefined for a notification already known, or without content
   * @throws A2AError if the task cannot be read: let the sender retry
   */
  take(notification: Notification): Promise<Update | undefined>;
}

interface Followed {
  /** Undefined after the end of the task, when nothing new can follow. */
  fold: ClientFold | undefined;
  /** True after a task was folded that events can be applied to. */
  hasBegun: boolean;
  last: Promise<unknown>;
}

/** @param most maximum number of tasks; the oldest is evicted, and read again when needed */
export function notifiedTasks(core: ClientCore, most: number): NotifiedTasks {
  const tasks = new Map<string, Followed>();
  return {
    take: (notification) => {
      const { taskId } = notification;
      let followed = tasks.get(taskId);
      if (followed === undefined) {
        evictOldest(tasks, most);
        followed = { fold: new ClientFold(), hasBegun: false, last: Promise.resolve() };
        tasks.set(taskId, followed);
      }
      const task = followed;
      const taken = task.last.then(() => take(core, task, notification));
      task.last = taken.catch(() => {});
      return taken;
    },
  };
}

async function take(
  core: ClientCore,
  followed: Followed,
  { response, taskId, generation }: Notification,
): Promise<Update | undefined> {
  const { fold } = followed;
  if (fold === undefined) return undefined;
  const at = fold.generation;
  if (generation !== undefined && at !== undefined && generation <= at) return undefined;
  const isMissing = generation !== undefined && at !== undefined && generation > at + 1;
  const isChange = response.payload.case === "statusUpdate" || response.payload.case === "artifactUpdate";
  if (isChange && (!followed.hasBegun || isMissing)) {
    const headers: Record<string, string> = core.canResume ? { [EXTENSIONS_PARAMETER]: RESUME_EXTENSION } : {};
    const task = await core.rpc.getTask({ id: taskId }, { headers });
    followed.hasBegun = true;
    const update = fold.takeTask(task);
    fold.generation ??= generation;
    if (isTerminal(fold.state)) followed.fold = undefined;
    return update;
  }
  const update = fold.take(response);
  followed.hasBegun ||= response.payload.case === "task";
  // The notification carries the generation beside the event, not in it.
  if (generation !== undefined) fold.generation = generation;
  if (isTerminal(fold.state)) followed.fold = undefined;
  return update?.at(fold.generation);
}
