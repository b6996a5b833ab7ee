import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Context } from "./context.js";
import { isSettled } from "./task-result.js";

/**
 * Waits until a task is finished or needs its client: by its stream if the agent has one, otherwise by polling, which a
 * broken stream falls back to.
 *
 * @returns the task as the agent stores it then
 */
export async function settled(
  context: Context,
  task: Task,
  history: { readonly historyLength?: number },
): Promise<Task> {
  const { signal } = context;
  const { client } = await context.agent();
  for await (const update of client.follow(task.id, { signal })) {
    if (update.task !== undefined && isSettled(update.task)) break;
  }
  return client.getTask({ id: task.id, ...history }, { signal });
}
