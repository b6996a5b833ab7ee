import type { Task, TaskStatus } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isInterrupted } from "../task/state.js";

/** How many tasks are remembered. An answer to the question of an older one is taken as it comes. */
const MAX_TASKS = 1_000;

/**
 * The questions that tasks were seen to wait with. Some servers answer a message to such a task before they begin its turn: what they
 * show then is the question that the message answers, and not an answer to it.
 */
export class AskedQuestions {
  readonly #questions = new Map<string, string>();

  /** Notes how a task was seen. */
  note({ id, status }: Task): void {
    this.#questions.delete(id);
    const question = questionOf(status);
    if (question === undefined) return;
    this.#questions.set(id, question);
    if (this.#questions.size > MAX_TASKS) this.#questions.delete(this.#questions.keys().next().value as string);
  }

  /** The question that a task was seen to wait with last, to be compared with `questionOf`. */
  of(taskId: string): string | undefined {
    return this.#questions.get(taskId);
  }
}

/**
 * What tells a question from others of its task: its time and the id of its message. Undefined where the task does not wait, or the
 * server does not say enough: no time, or one of whole seconds and no message.
 */
export function questionOf(status: TaskStatus | undefined): string | undefined {
  if (status?.timestamp === undefined || !isInterrupted(status.state)) return undefined;
  const { state, timestamp, message } = status;
  const messageId = message?.messageId ?? "";
  if (messageId === "" && timestamp.nanos === 0) return undefined;
  return `${state} ${timestamp.seconds}.${timestamp.nanos} ${messageId}`;
}
