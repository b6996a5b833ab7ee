import { create } from "@bufbuild/protobuf";
import { type StreamResponse, StreamResponseSchema, type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Update } from "../../task/answer.js";
import { endsBlockingSend, isInterrupted } from "../../task/state.js";
import type { Context } from "./context.js";
import { orPolled } from "./task-result.js";
import { eventText, TextBlock } from "./text.js";

interface Reading {
  /** True if the first task may be in the state before the message, which it answers. */
  readonly isContinued: boolean;
  /** Prints an event; undefined to print none. */
  readonly print?: (event: StreamResponse) => void;
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
export function tellsState({ payload }: StreamResponse): boolean {
  if (payload.case !== "task" && payload.case !== "statusUpdate") return false;
  return endsBlockingSend(payload.value.status?.state ?? TaskState.UNSPECIFIED);
}

/** Prints each event as a line of JSON or as text. Consecutive pieces of one artifact become one text. */
export class EventPrinter {
  readonly #out: Context["out"];
  /** The artifact whose text is open. */
  #artifactId: string | undefined;
  #block = new TextBlock();

  constructor({ out }: Context) {
    this.#out = out;
  }

  print(event: StreamResponse): void {
    const { isJson, isVerbose } = this.#out.mode;
    if (isJson) return this.#out.message(StreamResponseSchema, event);
    const piece = isVerbose ? undefined : pieceIn(event);
    if (piece?.append === true && piece.artifactId === this.#artifactId) {
      return this.#out.text(this.#block.add(piece.text));
    }
    this.end();
    if (piece === undefined) return this.#out.text(eventText(event, isVerbose));
    this.#artifactId = piece.artifactId;
    this.#block = new TextBlock();
    this.#out.text(`${eventText(piece.head, false)}${this.#block.begin(piece.text)}`);
  }

  end(): void {
    if (this.#artifactId !== undefined) this.#out.text(this.#block.end());
    this.#artifactId = undefined;
  }
}

/** Returns the text of an artifact event that has one text and nothing else, and the rest of the event. */
function pieceIn({ payload }: StreamResponse) {
  if (payload.case !== "artifactUpdate" || payload.value.artifact === undefined) return undefined;
  const { artifact, append } = payload.value;
  const [part, ...more] = artifact.parts;
  if (part?.content.case !== "text" || more.length > 0) return undefined;
  const value = { ...payload.value, artifact: { ...artifact, parts: [] } };
  const head = create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
  return { artifactId: artifact.artifactId, append, text: part.content.value, head };
}

/** Says that an agent without streams is polled. */
export function noteNoStream({ out }: Context, canStream: boolean): void {
  if (!canStream) out.note("note: the agent does not declare streaming; the task is polled");
}
