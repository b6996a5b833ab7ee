import type { RemovalStep, WriteRequest } from "./write.js";
import type { WriterClient } from "./writer-client.js";

/** Tasks that one transaction removes, so that appends wait only briefly. */
const REMOVAL_STEP = 64;

/** Steps by which one removal shrinks the file, 1 MiB each; later removals continue. */
const SHRINKING_STEPS = 64;

/** Removes the oldest finished tasks, one transaction per step. Returns their number. */
export async function removeFinished(
  writer: WriterClient,
  { before, limit }: WriteRequest<"removeFinished">,
): Promise<number> {
  let removed = 0;
  for (let shrinking = 0; ; ) {
    const step = Math.min(REMOVAL_STEP, limit - removed);
    const found = await writer.call("removeFinished", { before, limit: step });
    removed += found.removed;
    if (found.more || (found.removed === step && removed < limit)) continue;
    if (!found.spare || shrinking++ === SHRINKING_STEPS) return removed;
  }
}

/** Removes named tasks, one transaction per step. Returns their number. */
export async function removeTasks(writer: WriterClient, request: WriteRequest<"removeTasks">): Promise<number> {
  const { unfinished } = request;
  const taskIds = [...new Set(request.taskIds)];
  let removed = 0;
  for (let shrinking = 0; ; ) {
    const step: RemovalStep = await writer.call("removeTasks", {
      taskIds: taskIds.slice(0, REMOVAL_STEP),
      unfinished,
    });
    removed += step.removed;
    // Garbage comes first: the step may have removed none of its tasks.
    if (step.more) continue;
    taskIds.splice(0, REMOVAL_STEP);
    if (taskIds.length > 0) continue;
    if (!step.spare || shrinking++ === SHRINKING_STEPS) return removed;
  }
}
