import type { Message, Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { messageOf } from "../../../src/client/calls/message-input.js";
import { generationIn } from "../../../src/client/follow/fold.js";
import { ViewStore } from "../../../src/client/react/view-store.js";
import {
  type A2AClient,
  type MessageFields,
  partsOf,
  type ReadableMessage,
  type Update,
} from "../../../src/client/web.js";
import { answerIn, errorAnswer, type RecordedAnswer } from "../../../src/examine/recording/answer.js";
import { readableTask } from "../../../src/task/plain.js";
import { isInterrupted } from "../../../src/task/state.js";
import { EXTENSIONS_PARAMETER } from "../../../src/wire/service-params.js";
import { addRegistration } from "../receiver/registrations.js";
import { a2uiExtensionOf } from "./a2ui.js";
import { type Connected, connectTalk } from "./connection.js";
import { type KeptTalk, keepTalk, type Phase } from "./kept.js";
import { blocksOf, type TalkView, type Turn } from "./talk-view.js";
import { isRunning, MAX_READ, tasksOf, titleIn, titleOf } from "./task-facts.js";
import { newCut, TaskViews } from "./task-views.js";
import { Wire } from "./wire.js";

const noView: TalkView = {
  blocks: [],
  contextId: undefined,
  waiting: [],
  isFirst: false,
  isRunning: false,
  connected: undefined,
  error: undefined,
};

/** The webhook that is to be notified of a message's task. */
export interface Notified {
  readonly address: string;
  readonly token: string;
}

/** Milliseconds between two times that a running conversation is kept. */
const KEEP_MS = 1_000;

/** One conversation with an agent. It lives as long as the page, whether shown or not, and is kept for a reload. */
export class TalkStore extends ViewStore<TalkView> {
  readonly #wire = new Wire();
  readonly #turns: Turn[];
  readonly #tasks = new TaskViews(() => this.changed());
  readonly #running = new Map<string, AbortController>();
  /** Addresses that are to be notified, by the message whose task is not known yet. */
  readonly #notified = new Map<string, string>();
  #kept: KeptTalk;
  #connected: Connected | undefined;
  #connecting: Promise<A2AClient> | undefined;
  #error: unknown;
  #keepTimer: ReturnType<typeof setTimeout> | undefined;
  #login: number | undefined;
  #isEnded = false;
  readonly #onKept: () => void;

  /** @param onKept called after each change of the kept talk */
  constructor(kept: KeptTalk, onKept: () => void) {
    super(noView);
    this.#kept = kept;
    this.#onKept = onKept;
    this.#turns = kept.turns.map((turn) => ({
      ...turn,
      id: turn.message.messageId,
      taskId: turn.taskId,
      reply: turn.reply as ReadableMessage | undefined,
      error: turn.error,
    }));
    for (const id of kept.opened) this.#tasks.know(id, kept.generations[id]);
    for (const { taskId, message } of this.#turns) {
      if (taskId === undefined) continue;
      this.#tasks.know(taskId, kept.generations[taskId]);
      this.#tasks.addMessage(taskId, message);
    }
    this.flush();
  }

  get kept(): KeptTalk {
    return this.#kept;
  }

  /**
   * Connects, and reads the present state of the tasks. Connects anew with another login.
   *
   * @param login counts the changes of the login at the agent
   */
  readonly begin = (login: number): void => {
    if (this.#login === login) return;
    const isBegun = this.#login !== undefined;
    this.#login = login;
    if (isBegun) return this.reconnect();
    for (const turn of this.#turns) {
      // The message may have arrived, so sending it again is the user's choice.
      if (turn.phase === "running" && turn.taskId === undefined) this.#change(turn.id, { phase: "failed" });
    }
    void this.#client()
      .then((client) => this.#restore(client))
      .catch(() => {});
  };

  /** Sends a message. @param notified is registered for the task of it */
  readonly send = (fields: MessageFields, notified?: Notified): void => {
    const message = messageOf(fields, { contextId: this.#kept.contextId });
    const taskId = message.taskId === "" ? undefined : message.taskId;
    const turn: Turn = {
      id: message.messageId,
      message,
      at: Date.now(),
      phase: "running",
      taskId,
      reply: undefined,
      error: undefined,
    };
    this.#turns.push(turn);
    if (taskId !== undefined) this.#tasks.addMessage(taskId, message);
    this.#kept = { ...this.#kept, at: turn.at, title: this.#kept.title || titleOf(message) };
    if (notified !== undefined) this.#notified.set(turn.id, notified.address);
    const push = notified && { pushNotification: { url: notified.address, token: notified.token } };
    void this.#run(turn.id, taskId, (client, signal) => {
      const a2ui = a2uiExtensionOf(client.card);
      const headers = a2ui === undefined ? {} : { headers: { [EXTENSIONS_PARAMETER]: a2ui } };
      const modes = modesIn(this.#kept.accepts);
      const accepted = modes.length > 0 && { acceptedOutputModes: modes };
      return client.stream(message, { signal, ...headers, ...push, ...accepted });
    });
  };

  /** Sets the types of answers that are accepted, as a text with commas between them. */
  readonly accept = (text: string): void => {
    this.#kept = { ...this.#kept, accepts: text };
    this.#keep();
  };

  /** Sends a message again as a new task. */
  readonly retry = ({ message }: Turn): void => {
    const { metadata, extensions } = message;
    this.send({ ...(metadata !== undefined && { metadata }), extensions, parts: partsOf(message) });
  };

  /** Follows a task, unless it is followed already. */
  readonly follow = (taskId: string): void => {
    if (this.#running.has(taskId)) return;
    void this.#run(taskId, taskId, (client, signal) => client.follow(taskId, { signal }));
  };

  /** Stops receiving the events of a task, which continues. */
  readonly stopWaiting = (taskId: string): void => {
    for (const turn of this.#turns) {
      if (turn.taskId === taskId && turn.phase === "running") this.#change(turn.id, { phase: "left" });
      if (turn.taskId === taskId) this.#running.get(turn.id)?.abort();
    }
    this.#running.get(taskId)?.abort();
  };

  /** Stops waiting for a message whose task is not known yet. */
  readonly stopWaitingFor = (turnId: string): void => {
    this.#change(turnId, { phase: "left" });
    this.#running.get(turnId)?.abort();
  };

  readonly cancel = async (taskId: string): Promise<void> => {
    try {
      const client = await this.#client();
      const task = readableTask((await client.cancelTask({ id: taskId })) as Task);
      // The stream brings the same state, with what came before it.
      if (this.#tasks.get(taskId)?.isFollowed !== true) this.#tasks.take(task, { isWhole: true });
    } catch (error) {
      this.#tasks.set(taskId, { error });
    }
  };

  /** Aborts the connections of the running tasks. The client resumes them. */
  readonly cut = (): void => {
    this.#tasks.cut(this.#wire.last?.events ?? 0);
    this.#wire.cut();
  };

  /** Opens a task of the agent, with the other tasks of its conversation if the agent lists them. */
  readonly open = async (taskId: string): Promise<void> => {
    this.#tasks.know(taskId);
    this.flush();
    try {
      const client = await this.#client();
      const task = readableTask((await client.getTask({ id: taskId })) as Task);
      const others = await tasksOf(client, task.contextId).catch(() => []);
      const opened = new Set([...this.#kept.opened, ...others.map(({ id }) => id), taskId]);
      this.#kept = {
        ...this.#kept,
        opened: [...opened],
        contextId: task.contextId,
        title: this.#kept.title || titleIn(task),
      };
      for (const other of others) this.#tasks.take(readableTask(other), { isWhole: true });
      this.#tasks.take(task, { isWhole: true, generation: generationIn(task.metadata) });
      this.#keep();
      if (isRunning(task)) this.follow(taskId);
    } catch (error) {
      this.#tasks.set(taskId, { error });
    }
  };

  /** Chooses the way to speak, for the next calls. */
  readonly speak = (speech: string | undefined): void => {
    this.#kept = { ...this.#kept, speech };
    this.#keep();
    this.reconnect();
  };

  /** Connects anew, for example with other credentials. */
  readonly reconnect = (): void => {
    this.#connecting = undefined;
    this.#error = undefined;
    this.flush();
    void this.#client().catch(() => {});
  };

  /** Ends all streams of a conversation that is forgotten. */
  readonly end = (): void => {
    clearTimeout(this.#keepTimer);
    this.#isEnded = true;
    for (const controller of this.#running.values()) controller.abort();
  };

  protected make(): TalkView {
    const waiting = this.#tasks.all.filter(({ state }) => isInterrupted(state ?? 0)).map(({ id }) => id);
    return {
      blocks: blocksOf(this.#turns, this.#tasks.all),
      contextId: this.#kept.contextId,
      waiting,
      isFirst: this.#kept.contextId === undefined && this.#turns.some(({ phase }) => phase === "running"),
      isRunning: this.#running.size > 0,
      connected: this.#connected,
      error: this.#error,
    };
  }

  #client(): Promise<A2AClient> {
    this.#connecting ??= connectTalk(this.#kept.agent, this.#kept.speech, this.#wire.interceptor).then(
      (connected) => {
        this.#connected = connected;
        this.#error = undefined;
        this.#kept = { ...this.#kept, agentName: connected.client.card.name };
        this.#keep();
        this.flush();
        return connected.client;
      },
      (error: unknown) => {
        this.#connecting = undefined;
        this.#error = error;
        this.flush();
        throw error;
      },
    );
    return this.#connecting;
  }

  /** Reads the tasks after a reload, and follows those that were followed before it. */
  async #restore(client: A2AClient): Promise<void> {
    for (const { id } of this.#tasks.all.slice(-MAX_READ)) {
      const wasFollowed = this.#turns.some(({ taskId, phase }) => taskId === id && phase === "running");
      const before = this.#kept.generations[id];
      if (wasFollowed) {
        this.#tasks.set(id, { cuts: [newCut("reload", before, 0)] });
        this.follow(id);
        continue;
      }
      try {
        const task = readableTask((await client.getTask({ id })) as Task);
        this.#tasks.take(task, { isWhole: true });
      } catch (error) {
        this.#tasks.set(id, { error });
      }
    }
  }

  /** @param key the id of the message, or of a task that is only followed */
  async #run(
    key: string,
    taskId: string | undefined,
    open: (client: A2AClient, signal: AbortSignal) => AsyncIterable<Update>,
  ): Promise<void> {
    const controller = new AbortController();
    this.#running.set(key, controller);
    let id = taskId;
    if (id !== undefined) this.#tasks.set(id, { isFollowed: true, error: undefined });
    this.#keep();
    this.flush();
    try {
      const client = await this.#client();
      let last: Update | undefined;
      for await (const update of open(client, controller.signal)) {
        last = update;
        id = this.#took(key, update) ?? id;
      }
      // Without a hash of its files, an answer cannot be recorded.
      if (!controller.signal.aborted) this.#note(key, await answerIn(last).catch(() => undefined));
      this.#end(key, id, controller.signal.aborted ? "left" : "over", undefined);
    } catch (error) {
      if (controller.signal.aborted) return this.#end(key, id, "left", undefined);
      this.#note(key, errorAnswer(error));
      this.#end(key, id, "failed", error);
    }
  }

  /** Keeps the content of an answer for recordings: a later turn of the task changes the task. */
  #note(key: string, answer: RecordedAnswer | undefined): void {
    const turn = this.#turns.findLast(({ id, taskId }) => id === key || taskId === key);
    if (turn === undefined || turn.phase !== "running" || answer === undefined) return;
    this.#change(turn.id, { answer: JSON.stringify(answer), tookMs: Date.now() - turn.at });
  }

  #end(key: string, taskId: string | undefined, phase: Phase, error: unknown): void {
    this.#running.delete(key);
    for (const turn of this.#turns) {
      const isOf = turn.id === key || (key === taskId && turn.taskId === taskId);
      if (isOf && turn.phase === "running")
        this.#change(turn.id, { phase, error: taskId === undefined ? error : undefined });
    }
    if (taskId !== undefined) this.#tasks.set(taskId, { isFollowed: false, ...(error !== undefined && { error }) });
    this.#keep();
    this.flush();
  }

  /** Takes an update. Returns the id of its task. */
  #took(key: string, { kind, task, message, generation }: Update): string | undefined {
    const contextId = task?.contextId ?? message?.contextId ?? "";
    if (contextId !== "" && this.#kept.contextId === undefined) this.#kept = { ...this.#kept, contextId };
    if (task === undefined) {
      if (message !== undefined) this.#change(key, { reply: message });
      return undefined;
    }
    const address = this.#notified.get(key);
    if (address !== undefined) addRegistration({ address, agent: this.#kept.agent, taskId: task.id });
    this.#notified.delete(key);
    const turn = this.#turns.find(({ id }) => id === key);
    if (turn !== undefined && turn.taskId !== task.id) {
      this.#change(key, { taskId: task.id });
      this.#tasks.know(task.id);
      this.#tasks.addMessage(task.id, turn.message);
      this.#tasks.set(task.id, { isFollowed: true });
      this.#keep();
    }
    this.#tasks.take(task, {
      generation,
      isWhole: kind === "snapshot" || kind === "task",
      connection: this.#wire.last,
    });
    this.#keepSoon();
    return task.id;
  }

  #change(id: string, change: Partial<Turn>): void {
    const at = this.#turns.findIndex((turn) => turn.id === id);
    const turn = this.#turns[at];
    if (turn === undefined) return;
    this.#turns[at] = { ...turn, ...change };
    this.changed();
  }

  #keepSoon(): void {
    this.#keepTimer ??= setTimeout(() => this.#keep(), KEEP_MS);
  }

  #keep(): void {
    clearTimeout(this.#keepTimer);
    this.#keepTimer = undefined;
    const generations = this.#tasks.all.flatMap(({ id, generation }) =>
      generation === undefined ? [] : [[id, generation] as const],
    );
    const turns = this.#turns.map(({ id: _, reply, error, ...turn }) => ({
      ...turn,
      reply: reply as Message | undefined,
      error: error === undefined ? undefined : String((error as Error).message ?? error),
    }));
    this.#kept = { ...this.#kept, generations: Object.fromEntries(generations), turns };
    if (this.#isEnded) return;
    if (turns.length > 0 || this.#kept.opened.length > 0) keepTalk(this.#kept);
    this.#onKept();
  }
}

const modesIn = (text = ""): readonly string[] => text.split(/[\s,]+/).filter((mode) => mode !== "");
