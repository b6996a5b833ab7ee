import { admin } from "../../api/admin.js";
import { download } from "../../content/blob.js";
import { sentenceOf } from "../../ui/error.js";
import { rowOf, type TaskRow } from "./task-row.js";

/** Ways to change a task, and the export, which changes nothing. */
export type ChangeKind = "cancel" | "fail" | "delete" | "export";

/** A change that failed. */
export interface Failure {
  readonly id: string;
  readonly reason: string;
}

/** Calls at the same time. */
const PARALLEL = 4;

/**
 * Changes tasks.
 * @param text for the clients of failed tasks
 * @param onEach called after each task, with its row if it still exists
 */
export async function changeAll(
  kind: ChangeKind,
  ids: readonly string[],
  text: string,
  onEach: (id: string, row: TaskRow | undefined) => void,
): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  const left = ids.values();
  const work = async (): Promise<void> => {
    for (const id of left) {
      try {
        onEach(id, await change(kind, id, text));
      } catch (error) {
        failures.push({ id, reason: sentenceOf(error) });
      }
    }
  };
  // The browser asks before it stores several files at once.
  await Promise.all(Array.from({ length: kind === "export" ? 1 : PARALLEL }, work));
  return failures;
}

async function change(kind: ChangeKind, taskId: string, message: string): Promise<TaskRow | undefined> {
  if (kind === "cancel") {
    const { task } = await admin.cancelTask({ taskId });
    return task && rowOf(task);
  }
  if (kind === "fail") {
    const { task } = await admin.failTask({ taskId, message });
    return task && rowOf(task);
  }
  if (kind === "delete") await admin.deleteTask({ taskId });
  else await exportTask(taskId);
  return undefined;
}

/** Stores an export as a file. */
async function exportTask(taskId: string): Promise<void> {
  const pieces: string[] = [];
  for await (const { lines } of admin.exportTask({ taskId })) pieces.push(lines);
  download(pieces.join(""), `${taskId.replaceAll(/[^\w.-]/g, "_")}.jsonl`);
}
