import type { Answer, Update } from "../../task/answer.js";
import type { MessageInput } from "../../task/message-input.js";
import type { ReadableTask } from "../../task/plain.js";
import { isInterrupted } from "../../task/state.js";
import type { CallOptions, SendOnceOptions, StreamOptions } from "../calls/call-options.js";
import { callScopeOf, since } from "../calls/call-scope.js";
import { checkOptions, sendChecks, streamChecks } from "../calls/check-options.js";
import type { ClientCore } from "../calls/core.js";
import { orGivenUp } from "../calls/retry-delay.js";
import { send, stream } from "./send.js";

/** State of a conversation as plain JSON, to restore it later. */
export interface ConversationState {
  readonly contextId?: string | undefined;
  /** The task that waits for the next message. */
  readonly taskId?: string | undefined;
}

/**
 * Messages in one context: each goes to the task that waits for input, or starts a new task. Messages sent before the
 * first answer wait until it names the context. If several tasks wait, the next message goes to the one that asked
 * first, until it no longer waits; answers of other tasks do not change that.
 */
export interface Conversation {
  /** Undefined until the agent has answered, unless it was given. */
  readonly contextId: string | undefined;
  /** The task that waits for the next message, if any. */
  readonly taskId: string | undefined;
  /** The task of the last answer, as last seen. */
  readonly task: ReadableTask | undefined;
  /** See `client.send`. */
  send(message: MessageInput, options?: SendOnceOptions): Promise<Answer>;
  /** See `client.stream`. */
  stream(message: MessageInput, options?: StreamOptions): AsyncGenerator<Update, void, undefined>;
  /** Returns the current state. */
  toJSON(): ConversationState;
}

/** Starts a conversation, or restores one. */
export function conversation(core: ClientCore, state: ConversationState = {}): Conversation {
  return new TrackedConversation(core, state);
}

class TrackedConversation implements Conversation {
  readonly #core: ClientCore;
  #contextId: string | undefined;
  /** Known tasks that wait for a message, in the order of their questions. */
  readonly #waiting = new Map<string, ReadableTask | undefined>();
  #task: ReadableTask | undefined;
  readonly #first = new FirstMessage();
  /** True after the first answer: an agent without contexts is not waited for again. */
  #hasAnswer = false;

  constructor(core: ClientCore, { contextId, taskId }: ConversationState) {
    this.#core = core;
    this.#contextId = contextId;
    if (taskId !== undefined) this.#waiting.set(taskId, undefined);
  }

  get contextId(): string | undefined {
    return this.#contextId;
  }

  get taskId(): string | undefined {
    return this.#waiting.keys().next().value;
  }

  get task(): ReadableTask | undefined {
    return this.#task;
  }

  async send(message: MessageInput, options: SendOnceOptions = {}): Promise<Answer> {
    // Checked before the timeout in the options is used.
    checkOptions(options, sendChecks);
    const { taskId } = this;
    const startedAt = performance.now();
    const answered = await this.#first.turn(this.#isPlaced, options);
    try {
      const place = { contextId: this.#contextId, taskId };
      const answer = await send(this.#core, message, since(startedAt, options), place);
      this.#noteAnswer(answer, taskId);
      return answer;
    } finally {
      answered();
    }
  }

  async *stream(message: MessageInput, options: StreamOptions = {}): AsyncGenerator<Update, void, undefined> {
    checkOptions(options, streamChecks);
    const { taskId } = this;
    const known = taskId === undefined ? undefined : this.#waiting.get(taskId);
    const startedAt = performance.now();
    const answered = await this.#first.turn(this.#isPlaced, options);
    try {
      const place = { contextId: this.#contextId, taskId, known };
      for await (const update of stream(this.#core, message, since(startedAt, options), place)) {
        const contextId = update.task?.contextId ?? update.message?.contextId ?? "";
        this.#noteAnswer({ task: update.task, contextId }, taskId);
        answered();
        yield update;
      }
    } finally {
      answered();
    }
  }

  toJSON(): ConversationState {
    return { contextId: this.#contextId, taskId: this.taskId };
  }

  readonly #isPlaced = (): boolean => this.#hasAnswer || this.#contextId !== undefined || this.taskId !== undefined;

  /** @param sentTo the task that received the message */
  #noteAnswer({ task, contextId }: Pick<Answer, "task" | "contextId">, sentTo: string | undefined): void {
    this.#hasAnswer = true;
    if (contextId !== "") this.#contextId = contextId;
    this.#task = task;
    // An agent that answers otherwise has abandoned the task of its question.
    if (sentTo !== undefined && sentTo !== task?.id) this.#waiting.delete(sentTo);
    if (task === undefined) return;
    if (isInterrupted(task.status?.state ?? 0)) this.#waiting.set(task.id, task);
    else this.#waiting.delete(task.id);
  }
}

/**
 * Orders the first message of a conversation. Its answer names the context, which a client must not invent
 * (specification 3.4.1). Other messages wait for it: without a context each would start a new one.
 */
class FirstMessage {
  #waited: Promise<void> | undefined;

  /**
   * Waits while the first message is in flight.
   * @param isKnown true if waiting is unnecessary
   * @returns a function to call when the answer has arrived or the message has failed; the next message may then be the
   * first
   * @throws A2AError CANCELLED or DEADLINE_EXCEEDED if the caller's own limit ends first
   */
  async turn(isKnown: () => boolean, options: CallOptions): Promise<() => void> {
    const startedAt = performance.now();
    while (this.#waited !== undefined && !isKnown()) await until(this.#waited, since(startedAt, options));
    if (isKnown()) return () => {};
    let answered = (): void => {};
    this.#waited = new Promise((resolve) => {
      answered = resolve;
    });
    return () => {
      this.#waited = undefined;
      answered();
    };
  }
}

/** Waits for an event, within the limits of the call's options. */
async function until(event: Promise<void>, options: CallOptions): Promise<void> {
  const scope = callScopeOf(options);
  try {
    await orGivenUp(event, scope.signal);
  } finally {
    scope.end();
  }
}

/** Storage of a conversation over reloads: `sessionStorage`, `localStorage`, or a similar object. */
export interface ConversationStorage {
  /** Returns the text stored under a key, or null. */
  getItem(key: string): string | null;
  /** Stores a text. May throw if the storage is full. */
  setItem(key: string, value: string): void;
  /** Removes it. */
  removeItem(key: string): void;
}
