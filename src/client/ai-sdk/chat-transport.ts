import type { JsonValue } from "@bufbuild/protobuf";
import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { fromBase64 } from "../../core/bytes.js";
import { toA2AError } from "../../core/error.js";
import { mapStream } from "../../core/map-stream.js";
import { evictOldest } from "../../core/maps.js";
import { membersOf } from "../../core/members.js";
import { assertOptions, havingFunctions, type OptionChecks } from "../../core/options.js";
import type { Update } from "../../task/answer.js";
import type { MessageInput, PartInput } from "../../task/message-input.js";
import { isTerminal } from "../../task/state.js";
import type { FollowOptions, StreamOptions } from "../calls/call-options.js";
import { givenUp, orGivenUp } from "../calls/retry-delay.js";
import type { ConversationStorage } from "../follow/conversation.js";
import { answerOf, waits } from "../follow/update.js";
import { type A2AMetadata, agentMessageStream, type UIChunk } from "./chunks.js";

/** The methods of a client that the transport needs. */
export interface ChatClient {
  /** See `A2AClient`. */
  stream(message: MessageInput, options?: StreamOptions): AsyncIterable<Update>;
  /** See `A2AClient`. */
  follow(taskId: string, options?: FollowOptions): AsyncIterable<Update>;
  /** See `A2AClient`. */
  cancelTask(request: { id: string }): Promise<unknown>;
}

/** The parts of an AI SDK message that the transport reads. */
export interface UIMessageLike {
  readonly id: string;
  readonly role: string;
  readonly metadata?: unknown;
  readonly parts: readonly { readonly type: string }[];
}

/** Sends the messages of a chat, as the `transport` of `useChat`. */
export interface AgentChatTransport {
  /** A resumed stream starts over. */
  readonly resumeStreamIsReplay: true;
  /** Sends the user's last message and returns the agent's answer. `abortSignal` cancels the task. */
  sendMessages(options: SendMessages): Promise<ReadableStream<UIChunk>>;
  /**
   * Returns the further output of the chat's last task, or null if no task is known. `abortSignal` cancels the task.
   */
  reconnectToStream(options: ReconnectToStream): Promise<ReadableStream<UIChunk> | null>;
}

/** Arguments to send the last message of a chat. */
export interface SendMessages {
  readonly chatId: string;
  readonly messages: readonly UIMessageLike[];
  readonly abortSignal: AbortSignal | undefined;
}

/** Arguments to resume the answer of a chat. */
export interface ReconnectToStream {
  readonly chatId: string;
  readonly abortSignal?: AbortSignal | undefined;
}

/** Options of `chatTransport`. */
export interface ChatTransportOptions {
  /**
   * Stores the running task of a chat, so that a page resumes its answer after a reload (`resume: true` of `useChat`):
   * `sessionStorage` for this tab, `localStorage` for all. Default: in memory.
   */
  readonly storage?: ConversationStorage;
}

const checks: OptionChecks<ChatTransportOptions> = { storage: havingFunctions("getItem", "setItem", "removeItem") };

/**
 * Creates a transport of the AI SDK's `useChat` that sends the last message to an agent, which keeps the conversation.
 * The context and task are in the metadata of the chat's messages, so a conversation continues when they are loaded
 * again.
 *
 * @throws TypeError for invalid options
 */
export function chatTransport(client: ChatClient, options: ChatTransportOptions = {}): AgentChatTransport {
  assertOptions("chatTransport(client, options)", options, checks);
  const chats = new Chats(options.storage);
  const noted = (chatId: string, updates: AsyncIterable<Update>): AsyncIterable<Update> =>
    mapStream(updates, {
      item: (update) => {
        chats.note(chatId, update.task);
        return update;
      },
      failed: (error) => {
        if (toA2AError(error).reason === "TASK_NOT_FOUND") chats.forget(chatId);
        return error;
      },
    });
  const cancel = (id: string): Promise<unknown> => client.cancelTask({ id });
  return {
    resumeStreamIsReplay: true,
    async sendMessages({ chatId, messages, abortSignal }) {
      const last = messages.findLast(({ role }) => role === "user");
      if (last === undefined) throw new TypeError("The conversation has no message of the user.");
      const place = continuedIds(messages);
      const input = { parts: partsOf(last), ...place };
      const isAnswer = place.taskId !== undefined;
      if (abortSignal === undefined) return agentMessageStream(noted(chatId, client.stream(input)), isAnswer);
      const open = (signal: AbortSignal): AsyncIterable<Update> => client.stream(input, { signal });
      return agentMessageStream(noted(chatId, untilStopped({ open, signal: abortSignal, cancel })), isAnswer);
    },
    async reconnectToStream({ chatId, abortSignal }) {
      const chat = chats.get(chatId);
      if (chat === undefined) return null;
      const { taskId } = chat;
      if (abortSignal === undefined) return agentMessageStream(noted(chatId, answerOf(client.follow(taskId))), false);
      chat.resumed = abortSignal;
      const open = (signal: AbortSignal): AsyncIterable<Update> => answerOf(client.follow(taskId, { signal }));
      // A chat that resumes again aborts its earlier stream, although the user has not stopped anything.
      const stopped = async (id: string): Promise<unknown> => chat.resumed === abortSignal && cancel(id);
      return agentMessageStream(noted(chatId, untilStopped({ open, signal: abortSignal, cancel: stopped })), false);
    },
  };
}

/** Returns the context of the last answer, and its task if that waits for the next message. */
function continuedIds(messages: readonly UIMessageLike[]): { contextId?: string; taskId?: string } {
  const answer = messages.findLast(({ role, metadata }) => role === "assistant" && a2aOf(metadata) !== undefined);
  const { contextId = "", taskId, state } = a2aOf(answer?.metadata) ?? {};
  const waits = state === "TASK_STATE_INPUT_REQUIRED" || state === "TASK_STATE_AUTH_REQUIRED";
  return { ...(contextId !== "" && { contextId }), ...(waits && taskId !== undefined && { taskId }) };
}

function a2aOf(metadata: unknown): A2AMetadata["a2a"] | undefined {
  return (metadata as Partial<A2AMetadata> | null | undefined)?.a2a;
}

function partsOf({ parts }: UIMessageLike): PartInput[] {
  return parts.flatMap((part): PartInput[] => {
    const { type, text, url, mediaType, filename, data } = membersOf(part);
    if (type === "text" && typeof text === "string") return [{ text }];
    if (type === "file" && typeof url === "string") {
      const about = {
        ...(typeof mediaType === "string" && { mediaType }),
        ...(typeof filename === "string" && { filename }),
      };
      const bytes = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1];
      return [bytes === undefined ? { url, ...about } : { raw: fromBase64(bytes), ...about }];
    }
    return typeof type === "string" && type.startsWith("data-") ? [{ data: data as JsonValue }] : [];
  });
}

/** A stream that the user of a chat can stop. */
interface Stoppable {
  /** Opens the stream; the signal ends its call. */
  readonly open: (signal: AbortSignal) => AsyncIterable<Update>;
  /** Stops it. */
  readonly signal: AbortSignal;
  /** Cancels the task of a stream that was stopped. */
  readonly cancel: (taskId: string) => Promise<unknown>;
}

/**
 * Yields the updates of a stream until it is stopped: it then fails with CANCELLED at once, and its task is canceled as
 * soon as the first update names it.
 */
async function* untilStopped({ open, signal, cancel }: Stoppable): AsyncGenerator<Update, void, undefined> {
  if (signal.aborted) throw givenUp(signal);
  const call = new AbortController();
  const updates = open(call.signal)[Symbol.asyncIterator]();
  const first = updates.next();
  const stop = async (): Promise<void> => {
    try {
      const { value } = await first;
      call.abort();
      await Promise.all([value?.task && cancel(value.task.id), updates.return?.()]);
    } catch {
      // The stream failed, or its task cannot be canceled: the caller has already stopped waiting for both.
    }
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (let next = first; ; next = updates.next()) {
      const { done, value } = await orGivenUp(next, signal);
      if (done === true) return;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) await updates.return?.();
  }
}

/** A chat whose last task is running. */
interface Chat {
  readonly taskId: string;
  /** The signal of the most recently resumed stream. */
  resumed?: AbortSignal;
}

/** Chats in memory; the oldest are evicted first. */
const MAX_CHATS = 100;

/** The running tasks of chats, by the id of the chat; with a storage also after a reload. */
class Chats {
  readonly #storage: ConversationStorage | undefined;
  readonly #chats = new Map<string, Chat>();

  constructor(storage: ConversationStorage | undefined) {
    this.#storage = storage;
  }

  get(chatId: string): Chat | undefined {
    const chat = this.#chats.get(chatId);
    if (chat !== undefined) return chat;
    const taskId = this.#storage?.getItem(storageKey(chatId)) ?? "";
    return taskId === "" ? undefined : this.#set(chatId, { taskId });
  }

  /** Stores the task of a chat while it is running. */
  note(chatId: string, task: Task | undefined): void {
    const state = task?.status?.state ?? 0;
    if (task === undefined || isTerminal(state) || waits(task)) return this.forget(chatId);
    if (this.#chats.get(chatId)?.taskId === task.id) return;
    this.#set(chatId, { taskId: task.id });
    try {
      this.#storage?.setItem(storageKey(chatId), task.id);
    } catch {
      // A page whose storage is full continues; only a reload loses the task.
    }
  }

  forget(chatId: string): void {
    this.#chats.delete(chatId);
    this.#storage?.removeItem(storageKey(chatId));
  }

  #set(chatId: string, chat: Chat): Chat {
    if (!this.#chats.has(chatId)) evictOldest(this.#chats, MAX_CHATS);
    this.#chats.set(chatId, chat);
    return chat;
  }
}

function storageKey(chatId: string): string {
  return `parley-chat:${chatId}`;
}
