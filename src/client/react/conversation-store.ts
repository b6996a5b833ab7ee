import type { AgentCard, Message, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, toA2AError } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import type { Update } from "../../task/answer.js";
import type { MessageInput } from "../../task/message-input.js";
import type { ReadableTask } from "../../task/plain.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import { IDEMPOTENCY_EXTENSION } from "../../wire/service-params.js";
import type { FollowOptions, StreamOptions } from "../calls/call-options.js";
import { messageOf } from "../calls/message-input.js";
import { unknownArrival } from "../errors/errors.js";
import type { ConversationStorage } from "../follow/conversation.js";
import { answerOf } from "../follow/update.js";
import { loadConversation, type StoredTurn, saveConversation, type TurnPhase } from "./storage.js";
import { type TextBefore, TurnText, textBefore } from "./turn-text.js";
import { ViewStore } from "./view-store.js";

/** The methods of a client that the hooks need. */
export interface ConversationClient {
  readonly card?: AgentCard;
  /** See `A2AClient`. */
  stream(message: MessageInput, options?: StreamOptions): AsyncIterable<Update>;
  /** See `A2AClient`. */
  follow(taskId: string, options?: FollowOptions): AsyncIterable<Update>;
  /** See `A2AClient`. */
  cancelTask(request: { id: string }): Promise<unknown>;
}

/** One message and its answer. Replaced by a new object when it changes. */
export interface ConversationTurn {
  /** The id of the message. */
  readonly id: string;
  readonly message: Message;
  /** The agent's text: of artifacts, of its answer, or of its question. It grows. */
  readonly text: string;
  /** The agent's progress text; empty at the end. */
  readonly progress: string;
  readonly state: TaskState | undefined;
  /** The task with its artifacts, which changes. Undefined after a reload for completed turns. */
  readonly task: ReadableTask | undefined;
  readonly taskId: string | undefined;
  /** `streaming` until the task is finished, waits for its client, or was stopped. */
  readonly phase: TurnPhase;
  readonly error: A2AError | undefined;
}

/** View of a conversation for a page. */
export interface ConversationView {
  readonly turns: readonly ConversationTurn[];
  readonly isStreaming: boolean;
  readonly contextId: string | undefined;
  /** The task that waits for the next message. */
  readonly taskId: string | undefined;
}

/** Maximum number of turns kept; the oldest are removed first. */
const MAX_TURNS = 200;

export const EMPTY: ConversationView = { turns: [], isStreaming: false, contextId: undefined, taskId: undefined };

/** The running turn. */
interface Running {
  readonly turn: OpenTurn;
  readonly controller: AbortController;
}

/** The mutable state of a turn. */
interface OpenTurn {
  readonly message: Message;
  readonly before: TextBefore;
  readonly key: string | undefined;
  text: TurnText;
  task: ReadableTask | undefined;
  state: TaskState | undefined;
  taskId: string | undefined;
  phase: TurnPhase;
  error: A2AError | undefined;
}

/** The last shown store by storage and name: an abandoned store must not overwrite the data of a later one. */
const shownLast = new WeakMap<ConversationStorage, Map<string, ConversationStore>>();

/** Follows the turns of one conversation, one at a time, and saves them for a reload of the page. */
export class ConversationStore extends ViewStore<ConversationView> {
  readonly #client: ConversationClient | undefined;
  readonly #storage: ConversationStorage | undefined;
  readonly #name: string;
  #over: readonly ConversationTurn[] = [];
  #open: OpenTurn | undefined;
  #running: Running | undefined;
  #contextId: string | undefined;
  /** Text of the artifacts of the last turn's task. */
  #textBefore: TextBefore = {};
  #isAttached = false;
  #isLoaded = false;

  constructor(client: ConversationClient | undefined, storage: ConversationStorage | undefined, name: string) {
    super(EMPTY);
    this.#client = client;
    this.#storage = storage;
    this.#name = name;
  }

  /**
   * Loads the saved conversation and resumes a running turn when a page shows it. Returns the function that detaches
   * the page.
   */
  readonly attach = (): (() => void) => {
    this.#isAttached = true;
    if (this.#storage !== undefined) noteShown(this.#storage, this.#name, this);
    if (!this.#isLoaded) this.#load();
    if (this.#open !== undefined && this.#running === undefined) this.#resume(this.#open);
    return () => {
      this.#isAttached = false;
      // A message in flight still arrives; its task is found again from the saved state.
      if (this.#open?.taskId !== undefined) this.#running?.controller.abort();
    };
  };

  /** Sends a message, unless a turn is running. The message of a failed turn replaces that turn. */
  readonly send = (input: MessageInput, options: StreamOptions = {}): boolean => {
    if (this.#client === undefined || this.#open !== undefined) return false;
    const last = this.#over.at(-1);
    const waits = last?.state !== undefined && isInterrupted(last.state) ? last.taskId : undefined;
    const message = messageOf(input, { contextId: this.#contextId, taskId: waits }, options.idempotencyKey);
    const key = isRepeatable(this.#client) ? (options.idempotencyKey ?? keyOf(message)) : undefined;
    this.#over = this.#over.filter(({ id, phase }) => id !== message.messageId || phase !== "failed");
    const before = waits === undefined ? {} : this.#textBefore;
    const turn = openTurn({ message, before, key });
    this.#run(turn, this.#sending(turn, options));
    return true;
  };

  /** Stops the turn: cancels its task once the agent has named it. A task that cannot be canceled continues unseen. */
  readonly stop = (): void => {
    const turn = this.#running?.turn;
    if (turn === undefined) return;
    if (turn.taskId === undefined) return this.#leaveUnnamed(turn);
    const continueUnseen = (): void => {
      if (turn.phase !== "streaming") return;
      turn.phase = "stopped";
      // The page may have been detached and attached again meanwhile.
      if (this.#running?.turn === turn) this.#running.controller.abort();
      else if (this.#open === turn) this.#close(turn);
    };
    this.#client?.cancelTask({ id: turn.taskId }).catch(continueUnseen);
  };

  /** Clears everything and starts a new conversation. Tasks continue. */
  readonly reset = (): void => {
    const running = this.#running;
    this.#running = undefined;
    this.#open = undefined;
    running?.controller.abort();
    this.#over = [];
    this.#contextId = undefined;
    this.#save();
    this.flush();
  };

  protected make(): ConversationView {
    const last = this.#over.at(-1);
    const open = this.#open === undefined ? [] : [viewOf(this.#open)];
    return {
      turns: [...this.#over, ...open],
      isStreaming: this.#open !== undefined,
      contextId: this.#contextId,
      taskId: open.length === 0 && last?.state !== undefined && isInterrupted(last.state) ? last.taskId : undefined,
    };
  }

  #sending(turn: OpenTurn, options: StreamOptions): (signal: AbortSignal) => AsyncIterable<Update> | undefined {
    return (signal) => {
      const key = turn.key === undefined ? {} : { idempotencyKey: turn.key };
      return this.#client?.stream(turn.message, { ...options, ...key, signal });
    };
  }

  #resume(turn: OpenTurn): void {
    const { taskId, before } = turn;
    if (taskId !== undefined) {
      turn.text = new TurnText(before);
      this.#run(turn, (signal) => this.#client && answerOf(this.#client.follow(taskId, { signal })));
    } else if (turn.key !== undefined) {
      this.#run(turn, this.#sending(turn, {}));
    } else {
      turn.phase = "failed";
      turn.error = unknownArrival(new A2AError("UNAVAILABLE", "The page was left before the agent answered."));
      this.#close(turn);
    }
  }

  /** Ends a turn whose task is unknown. Its stream is read until it names the task. */
  #leaveUnnamed(turn: OpenTurn): void {
    turn.phase = "stopped";
    this.#running = undefined;
    this.#close(turn);
  }

  /** Cancels the task of a stopped turn at its first update. */
  #named(turn: OpenTurn, { task }: Update): void {
    if (task === undefined) return;
    this.#client?.cancelTask({ id: task.id }).catch(() => {});
    const at = this.#over.findIndex(({ message }) => message === turn.message);
    if (at < 0) return;
    turn.taskId = task.id;
    this.#contextId ??= task.contextId;
    this.#over = this.#over.with(at, viewOf(turn));
    this.#save();
    this.flush();
  }

  async #run(turn: OpenTurn, open: (signal: AbortSignal) => AsyncIterable<Update> | undefined): Promise<void> {
    const controller = new AbortController();
    const running: Running = { turn, controller };
    this.#running = running;
    this.#open = turn;
    this.#save();
    this.flush();
    let isLeft = false;
    try {
      for await (const update of open(controller.signal) ?? []) {
        if (turn.phase === "stopped" && turn.taskId === undefined) return this.#named(turn, update);
        if (this.#running !== running) return;
        this.#take(turn, update);
        isLeft = !this.#isAttached && turn.taskId !== undefined;
        if (isLeft) break;
      }
    } catch (error) {
      isLeft = controller.signal.aborted;
      if (turn.phase === "streaming" && !isLeft) {
        turn.phase = "failed";
        turn.error = toA2AError(error);
      }
    }
    if (this.#running !== running) return;
    this.#running = undefined;
    if (turn.phase === "streaming" && (!isLeft || isAtRest(turn))) turn.phase = "done";
    // A turn survives its page: it resumes when a page attaches again.
    if (turn.phase !== "streaming") this.#close(turn);
    else if (this.#isAttached) this.#resume(turn);
  }

  #take(turn: OpenTurn, update: Update): void {
    const { task, message } = update;
    turn.text.take(update);
    turn.task = task;
    turn.state = task?.status?.state;
    const isNew = turn.taskId === undefined && task !== undefined;
    if (task !== undefined) turn.taskId = task.id;
    const contextId = task?.contextId ?? message?.contextId ?? "";
    if (contextId !== "") this.#contextId = contextId;
    if (update.kind === "message") turn.phase = "done";
    if (!isNew) return this.changed();
    this.#save();
    this.flush();
  }

  #close(turn: OpenTurn): void {
    this.#open = undefined;
    this.#over = [...this.#over.slice(1 - MAX_TURNS), viewOf(turn)];
    this.#textBefore = textBefore(turn.task);
    this.#save();
    this.flush();
  }

  #load(): void {
    this.#isLoaded = true;
    if (this.#client === undefined || this.#storage === undefined) return;
    const kept = loadConversation(this.#storage, this.#name);
    if (kept === undefined) return;
    this.#contextId = kept.contextId;
    this.#textBefore = kept.textBefore ?? {};
    const turns = kept.turns.map(restored);
    this.#open = turns.at(-1)?.phase === "streaming" ? turns.pop() : undefined;
    this.#over = turns.map((turn, at) => viewOf(turn, kept.turns[at]?.text));
    this.flush();
  }

  #save(): void {
    if (this.#storage === undefined) return;
    const last = shownLast.get(this.#storage)?.get(this.#name);
    if (!this.#isAttached && last !== undefined && last !== this) return;
    const open = this.#open === undefined ? [] : [storedOpen(this.#open)];
    const turns = [...this.#over.map(stored), ...open];
    saveConversation(this.#storage, this.#name, {
      contextId: this.#contextId,
      textBefore: this.#textBefore,
      turns,
    });
  }
}

function noteShown(storage: ConversationStorage, name: string, store: ConversationStore): void {
  const shown = shownLast.get(storage) ?? new Map<string, ConversationStore>();
  shownLast.set(storage, shown.set(name, store));
}

function openTurn(more: Pick<OpenTurn, "message" | "before" | "key">): OpenTurn {
  const rest = { task: undefined, state: undefined, taskId: undefined, error: undefined };
  return { ...more, ...rest, text: new TurnText(more.before), phase: "streaming" };
}

function isAtRest({ state = 0 }: OpenTurn): boolean {
  return isTerminal(state) || isInterrupted(state);
}

function isRepeatable({ card }: ConversationClient): boolean {
  return card?.capabilities?.extensions.some(({ uri }) => uri === IDEMPOTENCY_EXTENSION) === true;
}

/**
 * Returns a message's idempotency key, which is the same when the message is sent again. An author's own id may name
 * messages of several conversations, which one key would join.
 */
const keyOf = ({ messageId }: Message): string => (UUID.test(messageId) ? messageId : newId());

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

function viewOf(turn: OpenTurn, kept?: string): ConversationTurn {
  const { message, text, state, task, taskId, phase, error } = turn;
  const shownText = kept ?? text.text;
  return {
    id: message.messageId,
    message,
    text: shownText,
    progress: text.progress,
    state,
    task,
    taskId,
    phase,
    error,
  };
}

function stored({ message, text, state, taskId, phase }: ConversationTurn): StoredTurn {
  return { message, text, state, taskId, phase };
}

function storedOpen({ message, state, taskId, phase, before, key }: OpenTurn): StoredTurn {
  return { message, text: "", state, taskId, phase, before, key };
}

function restored({ message, state, taskId, phase, before = {}, key }: StoredTurn): OpenTurn {
  return { ...openTurn({ message, before, key }), state, taskId, phase };
}
