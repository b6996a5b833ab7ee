import type { StreamResponse } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { makeRoom } from "../../core/maps.js";
import { isTerminal } from "../../task/state.js";
import { EXTENSIONS_PARAMETER, RESUME_EXTENSION } from "../../wire/service-params.js";
import type { ClientCore } from "../calls/core.js";
import { ClientFold } from "./fold.js";
import type { Update } from "./update.js";

/** The parts of a notification that the client needs, as `PushEvent` of `parley-a2a/push-receiver` has them. */
export interface Notification {
  readonly response: StreamResponse;
  readonly taskId: string;
  /** Number of the change that it tells of, undefined where the sender has none. */
  readonly generation: number | undefined;
}

/** Turns notifications of a webhook into updates like those of a stream. */
export interface NotifiedTasks {
  /**
   * Takes a notification, those of one task one after the other. Where some are missing before it, because another process had them or
   * the task was forgotten here, the task is read.
   *
   * @returns undefined for what is known already, and for what says nothing
   * @throws A2AError where the task cannot be read: let the sender try again
   */
  take(notification: Notification): Promise<Update | undefined>;
}

interface Followed {
  /** Undefined when the task is over: nothing is new after that. */
  fold: ClientFold | undefined;
  /** Something was folded, so that an event has something to stand on. */
  hasBegun: boolean;
  last: Promise<unknown>;
}

/** @param most tasks that are kept; the oldest is forgotten for one more, and read when it is heard of again */
export function notifiedTasks(core: ClientCore, most: number): NotifiedTasks {
  const tasks = new Map<string, Followed>();
  return {
    take: (notification) => {
      const { taskId } = notification;
      let followed = tasks.get(taskId);
      if (followed === undefined) {
        makeRoom(tasks, most);
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
  // It stands beside the event, not in it.
  if (generation !== undefined) fold.generation = generation;
  if (isTerminal(fold.state)) followed.fold = undefined;
  return update === undefined ? undefined : { ...update, generation: fold.generation };
}
