import { Role, type Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isInterrupted } from "../task/state.js";
import type { Update } from "./update.js";

/**
 * The updates of a task whose answer a page shows further, until the answer is over: also where the task waited for its client
 * already. `follow` would wait for the next answer, which the client cannot ask for meanwhile.
 */
export async function* answerOf(updates: AsyncIterable<Update>): AsyncGenerator<Update, void, undefined> {
  let isFirst = true;
  for await (const update of updates) {
    const isOver = isFirst && update.task !== undefined && waits(update.task);
    isFirst = false;
    yield update;
    if (isOver) return;
  }
}

/** Whether a task waits for a message of its client. One that came behind its question is answered by events to come. */
export function waits({ status, history }: Task): boolean {
  if (status === undefined || !isInterrupted(status.state)) return false;
  const asked = history.findIndex(({ messageId }) => messageId === status.message?.messageId);
  return asked < 0 || history.findLastIndex(({ role }) => role === Role.USER) < asked;
}
