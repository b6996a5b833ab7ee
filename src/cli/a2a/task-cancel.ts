import { type Task, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Context, Run } from "./context.js";
import { jsonOf } from "./output.js";
import { taskText } from "./text.js";

/** `task cancel`: cancels a task and prints it as it then is. */
export const run: Run = async (context, [id = ""]) => {
  context.noteTask(id, "");
  const { client } = await context.agent();
  const { metadata } = context.settings;
  const task = await client.cancelTask({ id, ...(metadata !== undefined && { metadata }) }, { signal: context.signal });
  print(context, task);
};

function print({ out }: Context, task: Task): void {
  if (out.mode.isJson) out.json(jsonOf(TaskSchema, task));
  else out.text(taskText(task, out.mode.isVerbose));
}
