import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ListTasksResponseSchema, type Task, TaskSchema, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Context, Run } from "./context.js";
import { wholeNumber } from "./kinds.js";
import { jsonOf } from "./output.js";
import { historyLength, ownOption } from "./own-options.js";
import { field, taskRow, taskText } from "./text.js";

/** `task list`: prints a page of tasks, or all of them. */
export const run: Run = async (context) => {
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
  if (out.mode.isJson) return out.json(jsonOf(TaskSchema, task));
  const text = task.artifacts.length > 0 ? taskText(task, true) : taskRow(task);
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
    ...(pageSize !== undefined && { pageSize }),
    ...(status !== undefined && { status }),
    ...(since !== undefined && { statusTimestampAfter: timestampFromDate(since) }),
    ...(contextId !== undefined && { contextId }),
    ...(context.own("with-artifacts").length > 0 && { includeArtifacts: true }),
  };
}

function state(text: string): TaskState {
  const name = text
    .toUpperCase()
    .replaceAll("-", "_")
    .replace(/^TASK_STATE_/, "");
  const value = TaskState[name as keyof typeof TaskState];
  if (typeof value !== "number" || value === TaskState.UNSPECIFIED) throw new Error("is not a state of a task");
  return value;
}

function time(text: string): Date {
  const date = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? new Date(text) : new Date(Number.NaN);
  if (Number.isNaN(date.getTime())) throw new Error("is not a time such as 2026-01-31T12:00:00Z");
  return date;
}
