import type { Run } from "./context.js";
import { saveFiles } from "./files/save.js";
import { historyLength } from "./own-options.js";
import { isQuiet } from "./quiet.js";
import { isSettled, printTask } from "./task-result.js";
import { settled } from "./wait.js";

/** `task get`: prints a task; with `--wait` when it is finished or needs its client. */
export const run: Run = async (context, [id = ""]) => {
  const history = historyLength(context);
  // A mistake is told before anything is called.
  isQuiet(context);
  const waits = context.settings.wait === true && !context.settings.async;
  if (waits) context.startBudget();
  context.noteTask(id, "");
  const { client } = await context.agent();
  const task = await client.getTask({ id, ...history }, { signal: context.signal });
  context.noteTask(task.id, task.contextId);
  const last = waits && !isSettled(task) ? await settled(context, task, history) : task;
  printTask(context, last);
  await saveFiles(context, last);
};
