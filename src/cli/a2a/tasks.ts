import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ListTasksResponseSchema, type Task, TaskSchema, type TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { given } from "../../core/options.js";
import { stateNamed } from "../../task/state-name.js";
import { type Context, historyLength, ownOption, type Run } from "./context.js";
import { usage } from "./errors.js";
import { EventPrinter, noteNoStream, readEvents } from "./events.js";
import { ownerOf, printSaved, saveFiles, saveParts, savingOf } from "./files/save.js";
import { wholeNumber } from "./kinds.js";
import { AnswerText, isQuiet } from "./quiet.js";
import { isSettled, printOutcome, printTask, settled } from "./task-result.js";
import { field, idFields, taskText } from "./text.js";

/** `task get`: prints a task; with `--wait` when it is finished or needs its client. */
export const get: Run = async (context, [id = ""]) => {
  const history = historyLength(context);
  // Rejects wrong options before any call.
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

/** `task cancel`: cancels a task and prints it as it then is. */
export const cancel: Run = async (context, [id = ""]) => {
  context.noteTask(id, "");
  const { client } = await context.agent();
  const { metadata } = context.settings;
  const task = await client.cancelTask({ id, ...given({ metadata }) }, { signal: context.signal });
  const { out } = context;
  if (out.mode.isJson) out.message(TaskSchema, task);
  else out.text(taskText(task, out.mode.isVerbose));
};

/** `task subscribe`: follows a task. Text and lines show each event, a JSON document the task at the end. */
export const subscribe: Run = async (context, [id = ""]) => {
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

/** `task download`: saves the artifacts of a task as files. */
export const download: Run = async (context, [id = ""]) => {
  const saving = savingOf(context, context.own("output-dir").at(-1) ?? ".", true);
  const wanted = context.own("artifact");
  context.noteTask(id, "");
  const { client } = await context.agent();
  const task = await client.getTask({ id, historyLength: 0 }, { signal: context.signal });
  context.noteTask(task.id, task.contextId);
  const paths = await saveParts(context, chosen(task, wanted).map(ownerOf), saving);
  const { out } = context;
  if (out.mode.isJson) out.message(TaskSchema, task);
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

/** `task list`: prints a page of tasks, or all of them. */
export const list: Run = async (context) => {
  const request = requestOf(context);
  const isWhole = context.own("all").length > 0;
  const { client } = await context.agent();
  const { out, signal, settings } = context;
  const tasks: Task[] = [];
  let pageToken = ownOption(context, "page-token", (text) => text) ?? "";
  for (;;) {
    const page = await client.listTasks({ ...request, pageToken }, { signal });
    const { nextPageToken } = page;
    const isLast = !isWhole || nextPageToken === "";
    if (out.mode.isJson && !settings.stream) {
      if (!isWhole) return out.message(ListTasksResponseSchema, page);
      tasks.push(...page.tasks);
      if (isLast) return out.message(ListTasksResponseSchema, create(ListTasksResponseSchema, { ...page, tasks }));
    } else {
      for (const task of page.tasks) print(context, task);
      if (isLast && nextPageToken !== "") {
        if (out.mode.isJson) out.note(`Next Page Token: ${nextPageToken}`);
        else out.text(field("Next Page Token", nextPageToken));
      }
    }
    if (isLast) return;
    pageToken = nextPageToken;
  }
};

function print({ out }: Context, task: Task): void {
  if (out.mode.isJson) return out.message(TaskSchema, task);
  const text = task.artifacts.length > 0 ? taskText(task, true) : idFields(task.id, task.contextId, task.status, true);
  out.text(text.endsWith("\n\n") ? text : `${text}\n`);
}

function requestOf(context: Context) {
  const pageSize =
    ownOption(context, "limit", wholeNumber(1, 100)) ?? ownOption(context, "page-size", wholeNumber(1, 100));
  const status = ownOption(context, "status", state);
  const since = ownOption(context, "since", time);
  // The variable is for `send`.
  const contextId = context.own("context-id", "context").at(-1);
  return {
    ...historyLength(context),
    ...given({ pageSize, status, contextId, statusTimestampAfter: since && timestampFromDate(since) }),
    ...(context.own("with-artifacts").length > 0 && { includeArtifacts: true }),
  };
}

function state(text: string): TaskState {
  const value = stateNamed(text);
  if (value === undefined) throw new Error("is not a state of a task");
  return value;
}

function time(text: string): Date {
  const date = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? new Date(text) : new Date(Number.NaN);
  if (Number.isNaN(date.getTime())) throw new Error("is not a time such as 2026-01-31T12:00:00Z");
  return date;
}
