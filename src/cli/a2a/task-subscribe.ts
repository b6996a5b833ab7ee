import { TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Run } from "./context.js";
import { EventPrinter, noteNoStream, readEvents } from "./events.js";
import { saveFiles } from "./files/save.js";
import { AnswerText, isQuiet } from "./quiet.js";
import { printOutcome } from "./task-result.js";

/** `task subscribe`: follows a task. Text and lines show each event, a JSON document the task at the end. */
export const run: Run = async (context, [id = ""]) => {
  context.noteTask(id, "");
  const quiet = isQuiet(context) ? new AnswerText(context) : undefined;
  const { out, settings, signal } = context;
  context.startBudget();
  const { client, canStream } = await context.agent();
  noteNoStream(context, canStream);
  const isLive = quiet === undefined && (!out.mode.isJson || settings.stream);
  const updates = client.follow(id, { signal });
  const printer = new EventPrinter(context);
  const task = await readEvents(context, updates, {
    isContinued: false,
    see: (update) => quiet?.take(update),
    ...(isLive && { print: (event) => printer.print(event) }),
  }).finally(() => printer.end());
  if (task === undefined) return;
  quiet?.end(task);
  if (quiet === undefined && !isLive) out.message(TaskSchema, task);
  printOutcome(context, task);
  await saveFiles(context, task);
};
