import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { isInterrupted } from "../../task/state.js";
import type { CallOptions, SendOnceOptions, StreamOptions } from "../calls/call-options.js";
import { checkCall, sendRules, streamRules } from "../calls/check.js";
import type { ClientCore } from "../calls/core.js";
import { Lifetime, since } from "../calls/lifetime.js";
import type { MessageInput } from "../calls/message-input.js";
import { orAborted } from "../calls/retry.js";
import { type Answer, send, stream } from "./send.js";
import type { Update } from "./update.js";

/** State of a conversation as plain JSON, to restore it later. */
export interface ConversationState {
  readonly contextId?: string | undefined;
  /** The task that waits for the next message. */
  readonly taskId?: string | undefined;
}

/**
 * Messages in one context: each goes to the task that waits for input, or begins a new task. Messages that are sent
 * before there is an answer to the first one wait until it names the context. Of several tasks that wait, the one that
 * asked first gets the next message, until it waits no more; answers of other tasks change nothing about that.
 */
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
  /** Tasks that wait for a message, as far as they are known, in the order in which they asked. */
  readonly #waiting = new Map<string, Task | undefined>();
  #task: Task | undefined;
  readonly #first = new FirstMessage();
  /** There was an answer: of an agent without contexts there is nothing to wait for. */
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

  get task(): Task | undefined {
    return this.#task;
  }

  async send(message: MessageInput, options: SendOnceOptions = {}): Promise<Answer> {
    // Before a turn waits for the time that they say.
    checkCall(options, sendRules);
    const { taskId } = this;
    const startedAt = performance.now();
    const answered = await this.#first.turn(this.#isPlaced, options);
    try {
      const place = { contextId: this.#contextId, taskId };
      const answer = await send(this.#core, message, since(startedAt, options), place);
      this.#stands(answer, taskId);
      return answer;
    } finally {
      answered();
    }
  }

  async *stream(message: MessageInput, options: StreamOptions = {}): AsyncGenerator<Update, void, undefined> {
    checkCall(options, streamRules);
    const { taskId } = this;
    const known = taskId === undefined ? undefined : this.#waiting.get(taskId);
    const startedAt = performance.now();
    const answered = await this.#first.turn(this.#isPlaced, options);
    try {
      const place = { contextId: this.#contextId, taskId, known };
      for await (const update of stream(this.#core, message, since(startedAt, options), place)) {
        const contextId = update.task?.contextId ?? update.message?.contextId ?? "";
        this.#stands({ task: update.task, contextId }, taskId);
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

  /** @param sentTo the task that the message went to */
  #stands({ task, contextId }: Pick<Answer, "task" | "contextId">, sentTo: string | undefined): void {
    this.#hasAnswer = true;
    if (contextId !== "") this.#contextId = contextId;
    this.#task = task;
    // An agent that answers by something else has left the task that it was asked in.
    if (sentTo !== undefined && sentTo !== task?.id) this.#waiting.delete(sentTo);
    if (task === undefined) return;
    if (isInterrupted(task.status?.state ?? 0)) this.#waiting.set(task.id, task);
    else this.#waiting.delete(task.id);
  }
}

/**
 * The message of a conversation whose answer names its context, which a client is not to make up (specification 3.4.1). Others wait for
 * that: each without a context would begin one of its own.
 */
class FirstMessage {
  #waited: Promise<void> | undefined;

  /**
   * Waits while the first message is on its way.
   * @param isKnown whether nothing is to be waited for
   * @returns a function to call when the answer has come or the message has failed; the next message may then be the first
   * @throws A2AError CANCELLED or DEADLINE_EXCEEDED where the caller's own time is over before
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

/** Waits for an event, for as long as a call with these options may take. */
async function until(event: Promise<void>, options: CallOptions): Promise<void> {
  const life = new Lifetime(options);
  try {
    await orAborted(event, life.signal);
  } finally {
    life.end();
  }
}

/** Storage of a conversation over reloads: `sessionStorage`, `localStorage`, or a similar object. */
export interface ConversationStorage {
  /** Returns the text that is kept under a name, or null. */
  getItem(key: string): string | null;
  /** Keeps a text. May throw where there is no room. */
  setItem(key: string, value: string): void;
  /** Forgets it. */
  removeItem(key: string): void;
}
