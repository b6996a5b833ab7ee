import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Update } from "../../task/answer.js";
import { endsBlockingSend, isInterrupted } from "../../task/state.js";
import type { Context } from "./context.js";
import { eventText } from "./text.js";
import { orPolled } from "./wait.js";

/** Options of reading a stream. */
interface Reading {
  /** True if the first task may be in the state before the message, which it answers. */
  readonly isContinued: boolean;
  /** Prints an event; undefined to print none. */
  readonly print?: (event: StreamResponse) => void;
  /** Sees each update. */
  readonly see?: (update: Update) => void;
}

/**
 * Reads the updates of a stream until the task is finished or needs its client, and prints them as they come. The last
 * one printed always has ids and state.
 *
 * @returns the task; undefined after a direct message
 */
export async function readEvents(
  context: Context,
  updates: AsyncGenerator<Update, void, undefined>,
  { isContinued, print = () => {}, see = () => {} }: Reading,
): Promise<Task | undefined> {
  let task: Task | undefined;
  let isTold = false;
  for await (const update of orPolled(context, updates)) {
    context.touch();
    see(update);
    const isFirst = task === undefined;
    const event = update.event ?? (update.task && taskEvent(update.task));
    if (event !== undefined) print(event);
    if (update.task === undefined) return undefined;
    const current = update.task;
    task = current;
    context.noteTask(current.id, current.contextId);
    isTold = event !== undefined && tellsState(event);
    // The agent may keep the stream open. After its end the client makes sure that nothing is missing.
    if (isInterrupted(current.status?.state ?? TaskState.UNSPECIFIED) && !(isFirst && isContinued)) break;
  }
  if (task !== undefined && !isTold) {
    const { client } = await context.agent();
    task = await client.getTask({ id: task.id }, { signal: context.signal });
    print(taskEvent(task));
  }
  return task;
}

function taskEvent(task: Task): StreamResponse {
  return create(StreamResponseSchema, { payload: { case: "task", value: task } });
}

/** True if an event carries ids and a state that ends a wait. */
function tellsState({ payload }: StreamResponse): boolean {
  if (payload.case !== "task" && payload.case !== "statusUpdate") return false;
  return endsBlockingSend(payload.value.status?.state ?? TaskState.UNSPECIFIED);
}

/** Prints an event as a line of JSON or as text. */
export function printEvent({ out }: Context, event: StreamResponse): void {
  if (out.mode.isJson) out.message(StreamResponseSchema, event);
  else out.text(eventText(event, out.mode.isVerbose));
}

/** Says that an agent without streams is polled. */
export function noteNoStream({ out }: Context, canStream: boolean): void {
  if (!canStream) out.note("note: the agent does not declare streaming; the task is polled");
}
