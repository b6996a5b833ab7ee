import { type Task, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Run } from "./context.js";
import { usage } from "./errors.js";
import { ownerOf, printSaved, saveParts, savingOf } from "./files/save.js";
import { jsonOf } from "./output.js";
import { idFields } from "./text.js";

/** `task download`: saves the artifacts of a task as files. */
export const run: Run = async (context, [id = ""]) => {
  const saving = savingOf(context, context.own("output-dir").at(-1) ?? ".", true);
  const wanted = context.own("artifact");
  context.noteTask(id, "");
  const { client } = await context.agent();
  const task = await client.getTask({ id, historyLength: 0 }, { signal: context.signal });
  context.noteTask(task.id, task.contextId);
  const paths = await saveParts(context, chosen(task, wanted).map(ownerOf), saving);
  const { out } = context;
  if (out.mode.isJson) out.json(jsonOf(TaskSchema, task));
  else out.text(idFields(task.id, task.contextId, task.status, false));
  printSaved(context, paths);
  if (paths.length === 0) out.note("note: the task has no files to save");
};

function chosen({ artifacts }: Task, wanted: readonly string[]): Task["artifacts"] {
  if (wanted.length === 0) return artifacts;
  const found = wanted.map((id) => {
    const artifact = artifacts.find(({ artifactId }) => artifactId === id);
    if (artifact !== undefined) return artifact;
    const ids = artifacts.map(({ artifactId }) => artifactId).join(", ");
    throw usage(`--artifact: the task has no artifact ${JSON.stringify(id)}`, `it has ${ids === "" ? "none" : ids}`);
  });
  return [...new Set(found)];
}
