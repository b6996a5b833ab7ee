import { create, fromJsonString } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Part, PartSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  AnswerTaskResponseSchema,
  CancelTaskResponseSchema,
  FailTaskResponseSchema,
  type TaskSummary,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { CommandError } from "../command-error.js";
import type { Io } from "../io.js";
import { stateName } from "./format.js";
import { confirm, print } from "./io.js";
import { printAnswer } from "./lists.js";
import { type ReachFlags, withService } from "./service.js";

/** `parley tasks cancel`. */
export function cancel(taskId: string, flags: ReachFlags, io: Io): Promise<void> {
  return withService(flags, io, async (client) => {
    const answer = await client.cancelTask({ taskId });
    await printAnswer(io, flags, CancelTaskResponseSchema, answer, () => lineOf(answer.task));
  });
}

/** Flags of `parley tasks fail`. */
export interface FailFlags extends ReachFlags {
  readonly message?: string;
}

/** `parley tasks fail`. */
export function fail(taskId: string, flags: FailFlags, io: Io): Promise<void> {
  return withService(flags, io, async (client) => {
    const answer = await client.failTask({ taskId, message: flags.message ?? "" });
    await printAnswer(io, flags, FailTaskResponseSchema, answer, () => lineOf(answer.task));
  });
}

/** Flags of `parley tasks answer`. */
export interface AnswerFlags extends ReachFlags {
  readonly data?: string;
}

/** `parley tasks answer`. @throws CommandError without an answer */
export function answer(taskId: string, text: string | undefined, flags: AnswerFlags, io: Io): Promise<void> {
  const parts: Part[] = [];
  if (text !== undefined && text !== "") parts.push(create(PartSchema, { content: { case: "text", value: text } }));
  if (flags.data !== undefined) parts.push(dataPart(flags.data));
  if (parts.length === 0) throw new CommandError("usage", "give the answer: a text, or --data and JSON");
  return withService(flags, io, async (client) => {
    const answered = await client.answerTask({ taskId, parts });
    await printAnswer(io, flags, AnswerTaskResponseSchema, answered, () => lineOf(answered.task));
  });
}

/** @throws CommandError for text that is not JSON */
function dataPart(json: string): Part {
  try {
    return create(PartSchema, { content: { case: "data", value: fromJsonString(ValueSchema, json) } });
  } catch (cause) {
    throw new CommandError("usage", "--data is not JSON: quote it for the shell, such as '{\"ok\":true}'", { cause });
  }
}

function lineOf(task: TaskSummary | undefined): string[] {
  return task === undefined ? [] : [`${task.taskId}  ${stateName(task.state)}`];
}

/** Flags of `parley tasks delete`. */
export interface DeleteFlags extends ReachFlags {
  readonly yes: boolean;
}

/** `parley tasks delete`: prints the id of each deleted task. */
export async function remove(taskIds: readonly string[], flags: DeleteFlags, io: Io): Promise<void> {
  const what = taskIds.length === 1 ? `task ${taskIds[0]}` : `${taskIds.length} tasks`;
  await confirm(io, `delete ${what}`, flags);
  await withService(flags, io, async (client) => {
    for (const taskId of taskIds) {
      await client.deleteTask({ taskId });
      await print(io, flags.json ? `${JSON.stringify({ deleted: taskId })}\n` : `${taskId}  deleted\n`);
    }
  });
}
