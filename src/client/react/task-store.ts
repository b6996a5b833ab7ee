import type { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type A2AError, toA2AError } from "../../core/error.js";
import type { ReadableTask } from "../../task/plain.js";
import type { ConversationClient } from "./conversation-store.js";
import { TurnText } from "./turn-text.js";
import { ViewStore } from "./view-store.js";

/** View of a task for a page. */
export interface TaskView {
  /** The task with its artifacts, which changes. Undefined before it is received. */
  readonly task: ReadableTask | undefined;
  /** The task's text: that of its artifacts, and its final message. It grows. */
  readonly text: string;
  /** The agent's progress text; empty at the end. */
  readonly progress: string;
  readonly state: TaskState | undefined;
  readonly isStreaming: boolean;
  readonly error: A2AError | undefined;
}

export const NO_TASK: TaskView = {
  task: undefined,
  text: "",
  progress: "",
  state: undefined,
  isStreaming: false,
  error: undefined,
};

/** Follows one task while a page shows it. */
export class TaskStore extends ViewStore<TaskView> {
  readonly #client: ConversationClient | undefined;
  readonly #taskId: string | undefined;
  #text = new TurnText({});
  #task: ReadableTask | undefined;
  #error: A2AError | undefined;
  #controller: AbortController | undefined;

  constructor(client: ConversationClient | undefined, taskId: string | undefined) {
    super(NO_TASK);
    this.#client = client;
    this.#taskId = taskId;
  }

  /** Starts following when a page shows it. Returns the function that ends it. */
  readonly attach = (): (() => void) => {
    const controller = new AbortController();
    this.#controller = controller;
    this.#follow(controller);
    return () => {
      if (this.#controller === controller) this.#controller = undefined;
      controller.abort();
    };
  };

  protected make(): TaskView {
    return {
      task: this.#task,
      text: this.#text.text,
      progress: this.#text.progress,
      state: this.#task?.status?.state,
      isStreaming: this.#controller !== undefined,
      error: this.#error,
    };
  }

  async #follow(controller: AbortController): Promise<void> {
    if (this.#client === undefined || this.#taskId === undefined) return;
    this.#text = new TurnText({});
    this.#error = undefined;
    this.flush();
    try {
      for await (const update of this.#client.follow(this.#taskId, { signal: controller.signal })) {
        if (this.#controller !== controller) return;
        this.#text.take(update);
        this.#task = update.task;
        this.changed();
      }
    } catch (error) {
      if (this.#controller === controller) this.#error = toA2AError(error);
    }
    if (this.#controller !== controller) return;
    this.#controller = undefined;
    this.flush();
  }
}
