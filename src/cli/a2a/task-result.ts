import { type Task, TaskSchema, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { clientError, isCut } from "../../client/errors/errors.js";
import type { Update } from "../../task/answer.js";
import { endsBlockingSend, isInterrupted } from "../../task/state.js";
import { stateName } from "../../task/state-name.js";
import type { Context } from "./context.js";
import { jsonOf } from "./output.js";
import { isQuiet, printAnswer } from "./quiet.js";
import { resumeCommand } from "./resume.js";
import { field, historyText, taskText } from "./text.js";

/** True if a wait for a task ends in its state: it is finished, or needs its client. */
export function isSettled({ status }: Task): boolean {
  return endsBlockingSend(status?.state ?? TaskState.UNSPECIFIED);
}

/** Prints the task that a command results in, and warns of an outcome that is not a success. @param wrap form in JSON */
export function printTask(context: Context, task: Task, wrap: (json: unknown) => unknown = (json) => json): void {
  const { out } = context;
  context.noteTask(task.id, task.contextId);
  if (isQuiet(context)) {
    printAnswer(context, task);
    return printOutcome(context, task);
  }
  if (out.mode.isJson) out.json(wrap(jsonOf(TaskSchema, task)));
  else out.text(taskText(task, out.mode.isVerbose));
  if (!out.mode.isJson && (out.mode.isVerbose || context.own("history").length > 0)) out.text(historyText(task));
  printOutcome(context, task);
}

/** Prints the command that continues a task, and a warning unless the task succeeded or runs. */
export function printOutcome(context: Context, task: Task): void {
  const { out } = context;
  const state = task.status?.state ?? TaskState.UNSPECIFIED;
  const resume = resumeCommand(context, task);
  if (state === TaskState.AUTH_REQUIRED) {
    out.note("note: the agent waits for an authorization: give it as the message says, and then resume");
  }
  const isAnswerAlone = out.mode.isJson || isQuiet(context);
  if (resume !== undefined && !isAnswerAlone) out.text(field("Resume with", resume));
  if (resume !== undefined && isAnswerAlone && isInterrupted(state)) out.note(`Resume with: ${resume}`);
  if (isSettled(task) && state !== TaskState.COMPLETED) out.warn(`task ${task.id}: ${stateName(state)}`);
}

/**
 * Waits until a task is finished or needs its client: by its stream if the agent has one, otherwise by polling.
 *
 * @returns the task as the agent stores it then
 */
export async function settled(
  context: Context,
  task: Task,
  history: { readonly historyLength?: number },
): Promise<Task> {
  const { signal } = context;
  const { client } = await context.agent();
  for await (const update of orPolled(context, client.follow(task.id, { signal }))) {
    if (update.task !== undefined && isSettled(update.task)) break;
  }
  return client.getTask({ id: task.id, ...history }, { signal });
}

/** Polls the task of the run if its stream fails for good, and the agent has not refused it. */
export async function* orPolled(
  context: Context,
  updates: AsyncGenerator<Update, void, undefined>,
): AsyncGenerator<Update, void, undefined> {
  const { signal, out } = context;
  try {
    return yield* updates;
  } catch (error) {
    if (context.task === undefined || signal.aborted || !isCut(clientError(error))) throw error;
    out.note(`note: the stream fails (${clientError(error).message}); the task is polled`);
  }
  const client = await (await context.agent()).polling();
  yield* client.follow(context.task.id, { signal });
}
