import { backUpFile } from "../store/sqlite/backup.js";
import { restoreFile } from "../store/sqlite/restore.js";

/** `parley backup`: prints the path, the size and the moment. */
export async function backupCommand(store: string, target: string): Promise<void> {
  const { path, bytes, time } = await backUpFile(store, target);
  process.stdout.write(`${path}: ${bytes} bytes, as of ${new Date(time).toISOString()}\n`);
}

/** `parley restore`: prints the path, the number of tasks and the moment. */
export async function restoreCommand(backup: string, store: string): Promise<void> {
  const { path, tasks, time } = await restoreFile(backup, store);
  const moment = time === undefined ? "without a digest" : `as of ${new Date(time).toISOString()}`;
  process.stdout.write(`${path}: ${tasks} tasks, ${moment}\n`);
}
