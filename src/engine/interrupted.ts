import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import type { TaskHead } from "../store/task-store.js";
import { isInterrupted } from "../task/state.js";
import { statusDraft } from "./draft.js";
import type { TaskLog } from "./task-log.js";

const why = "The task waited for its client for too long, and was canceled.";

/**
 * Cancels a task that still waits for its client as it did when it was looked for. CANCELED and not FAILED: it was
 * stopped before it was done (specification 4.1.3), and its agent did nothing wrong. A message that comes in this moment
 * goes first, here or in another process, and then it is not canceled.
 * @param before is done first, when the task still waits
 * @returns whether it was canceled
 */
export async function giveUpInterrupted(
  log: TaskLog,
  { found, now, before }: { readonly found: TaskHead; readonly now: number; readonly before: () => Promise<void> },
): Promise<boolean> {
  const { generation } = log.head;
  const waits = (): boolean => isInterrupted(log.fold.state) && log.atRest && log.head.statusTime === found.statusTime;
  if (!waits()) return false;
  await before();
  if (!waits()) return false;
  const draft = statusDraft(log.place, TaskState.CANCELED, why, now);
  try {
    await log.append(draft, { ifGeneration: generation });
    return true;
  } catch (error) {
    const moved = error instanceof A2AError && ["GENERATION_MISMATCH", "UNSUPPORTED_OPERATION"].includes(error.reason);
    if (moved) return false;
    throw error;
  }
}
