import type { Message, Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type A2AClient, type ReadableTask, TaskState, textOf } from "../../../src/client/web.js";
import { talkWords } from "../texts/talk.js";

/** Most tasks of a conversation that are read at once. */
export const MAX_READ = 30;

/** Returns the other tasks of a context, the oldest first. */
export async function tasksOf(client: A2AClient, contextId: string): Promise<readonly Task[]> {
  if (contextId === "") return [];
  const { tasks } = await client.listTasks({
    contextId,
    pageSize: MAX_READ,
    includeArtifacts: true,
    historyLength: 100,
  });
  return tasks.toReversed() as Task[];
}

const MAX_TITLE = 80;

export function titleOf(message: Message): string {
  const text = textOf(message).replaceAll(/\s+/g, " ").trim();
  return text === "" ? talkWords.filesOnly : text.slice(0, MAX_TITLE);
}

export function titleIn({ history }: ReadableTask): string {
  const [first] = history;
  return first === undefined ? talkWords.openedTask : titleOf(first as Message);
}

export function isRunning({ status }: ReadableTask): boolean {
  return status?.state === TaskState.WORKING || status?.state === TaskState.SUBMITTED;
}
