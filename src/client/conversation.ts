import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isInterrupted } from "../task/state.js";
import type { StreamOptions } from "./call-options.js";
import type { ClientCore } from "./client.js";
import type { MessageInput } from "./message-input.js";
import { type Answer, type SendOnceOptions, send } from "./send.js";
import { stream } from "./stream.js";
import type { Update } from "./update.js";

/** Where a conversation stands, to be kept and gone on with later: plain JSON. */
export interface ConversationState {
  readonly contextId?: string | undefined;
  /** The task that waits for the next message. */
  readonly taskId?: string | undefined;
}

/** Messages that belong together: each goes to the task that waits for one, and else begins a new one in the same context. */
export interface Conversation {
  /** Undefined until the agent has answered, unless it was given. */
  readonly contextId: string | undefined;
  /** The task that waits for the next message, if one does. */
  readonly taskId: string | undefined;
  /** The task of the last answer, as far as it was followed. */
  readonly task: Task | undefined;
  /** As `client.send`. */
  send(message: MessageInput, options?: SendOnceOptions): Promise<Answer>;
  /** As `client.stream`. */
  stream(message: MessageInput, options?: StreamOptions): AsyncGenerator<Update, void, undefined>;
  /** Where it stands. */
  toJSON(): ConversationState;
}

/** Begins a conversation, or goes on with one. */
export function conversation(core: ClientCore, state: ConversationState = {}): Conversation {
  return new TrackedConversation(core, state);
}

class TrackedConversation implements Conversation {
  readonly #core: ClientCore;
  #contextId: string | undefined;
  #taskId: string | undefined;
  #task: Task | undefined;

  constructor(core: ClientCore, { contextId, taskId }: ConversationState) {
    this.#core = core;
    this.#contextId = contextId;
    this.#taskId = taskId;
  }

  get contextId(): string | undefined {
    return this.#contextId;
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  get task(): Task | undefined {
    return this.#task;
  }

  async send(message: MessageInput, options?: SendOnceOptions): Promise<Answer> {
    const answer = await send(this.#core, message, options, this.#place);
    this.#stands(answer.task, answer.contextId);
    return answer;
  }

  async *stream(message: MessageInput, options?: StreamOptions): AsyncGenerator<Update, void, undefined> {
    const known = this.#task?.id === this.#taskId ? this.#task : undefined;
    for await (const update of stream(this.#core, message, options, { ...this.#place, known })) {
      this.#stands(update.task, update.task?.contextId ?? update.message?.contextId ?? "");
      yield update;
    }
  }

  toJSON(): ConversationState {
    return { contextId: this.#contextId, taskId: this.#taskId };
  }

  get #place(): ConversationState {
    return { contextId: this.#contextId, taskId: this.#taskId };
  }

  #stands(task: Task | undefined, contextId: string): void {
    if (contextId !== "") this.#contextId = contextId;
    this.#task = task;
    this.#taskId = task !== undefined && isInterrupted(task.status?.state ?? 0) ? task.id : undefined;
  }
}
