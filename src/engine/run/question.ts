import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import type { TaskStore } from "../../store/task-store.js";
import { decodeEntry } from "../../task/entry.js";
import { isInterrupted } from "../../task/state.js";

/** Entries per read. The question is mostly the entry right before its answer. */
const READ_ENTRIES = 8;

/**
 * Returns the agent's own question that a message answers. A message that was accepted before the question does not
 * answer it, although its turn runs after it, nor does a message after another agent's question, which was relayed.
 */
export async function questionBefore(
  store: TaskStore,
  { taskId, position }: TurnRequest,
): Promise<Message | undefined> {
  for (let before = position; before > 1; before -= READ_ENTRIES) {
    const after = Math.max(0, before - 1 - READ_ENTRIES);
    const read = await store.read({ taskId, after, limit: before - 1 - after });
    for (const bytes of read.reverse()) {
      const { event, relay } = decodeEntry(bytes);
      if (event.case === "created") return undefined;
      if (event.case !== "status") continue;
      const { status } = event.value;
      const isQuestion = relay === undefined && status !== undefined && isInterrupted(status.state);
      return isQuestion ? status.message : undefined;
    }
  }
  return undefined;
}
