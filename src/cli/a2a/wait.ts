import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { clientError, isCut } from "../../client/errors/errors.js";
import type { Update } from "../../task/answer.js";
import type { Context } from "./context.js";
import { isSettled } from "./task-result.js";

/**
 * Waits until a task is finished or needs its client: by its stream if the agent has one, otherwise by polling.
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
  for await (const update of orPolled(context, client.follow(task.id, { signal }))) {
    if (update.task !== undefined && isSettled(update.task)) break;
  }
  return client.getTask({ id: task.id, ...history }, { signal });
}

/** Polls the task of the run if its stream fails for good, and the agent has not refused it. */
export async function* orPolled(
  context: Context,
  updates: AsyncGenerator<Update, void, undefined>,
): AsyncGenerator<Update, void, undefined> {
  const { signal, out } = context;
  try {
    return yield* updates;
  } catch (error) {
    if (context.task === undefined || signal.aborted || !isCut(clientError(error))) throw error;
    out.note(`note: the stream fails (${clientError(error).message}); the task is polled`);
  }
  const client = await (await context.agent()).polling();
  yield* client.follow(context.task.id, { signal });
}
