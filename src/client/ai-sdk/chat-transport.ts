import type { JsonValue } from "@bufbuild/protobuf";
import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { fromBase64 } from "../../core/bytes.js";
import type { PartInput } from "../../task/part-input.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import type { FollowOptions, StreamOptions } from "../call-options.js";
import type { MessageInput } from "../message-input.js";
import type { Update } from "../update.js";
import { type A2AMetadata, type UIChunk, uiMessageStream } from "./chunks.js";

/** What the transport needs of a client. */
export interface ChatClient {
  /** As of `A2AClient`. */
  stream(message: MessageInput, options?: StreamOptions): AsyncIterable<Update>;
  /** As of `A2AClient`. */
  follow(taskId: string, options?: FollowOptions): AsyncIterable<Update>;
}

/** A message of the AI SDK, as far as an agent is told of it. */
export interface UIMessageLike {
  readonly id: string;
  readonly role: string;
  readonly metadata?: unknown;
  readonly parts: readonly { readonly type: string }[];
}

/** What sends the messages of a chat: `transport` of `useChat`. */
export interface AgentChatTransport {
  /** A stream that is gone on with begins anew. */
  readonly resumeStreamIsReplay: true;
  /** Sends the last message of the user, and gives what the agent says. */
  sendMessages(options: SendMessages): Promise<ReadableStream<UIChunk>>;
  /** What the chat's last task goes on to say; null where none is known. */
  reconnectToStream(options: { readonly chatId: string }): Promise<ReadableStream<UIChunk> | null>;
}

/** A chat whose last message is to be sent. */
export interface SendMessages {
  readonly chatId: string;
  readonly messages: readonly UIMessageLike[];
  readonly abortSignal: AbortSignal | undefined;
}

/** Chats that are remembered; the oldest are forgotten first. */
const MAX_CHATS = 100;

/**
 * The transport of the AI SDK's `useChat` that calls an agent: the last message goes to the agent, which keeps the conversation. Where a
 * conversation stands is in the metadata of its messages, so that it goes on when they are loaded again.
 */
export function chatTransport(client: ChatClient): AgentChatTransport {
  const chats = new Map<string, string>();
  const noted = async function* (chatId: string, updates: AsyncIterable<Update>): AsyncGenerator<Update> {
    for await (const update of updates) {
      note(chats, chatId, update.task);
      yield update;
    }
  };
  return {
    resumeStreamIsReplay: true,
    async sendMessages({ chatId, messages, abortSignal }) {
      const last = messages.findLast(({ role }) => role === "user");
      if (last === undefined) throw new TypeError("There is no message of the user.");
      const input = { parts: partsOf(last), ...placeOf(messages) };
      const options = abortSignal === undefined ? {} : { signal: abortSignal };
      return uiMessageStream(noted(chatId, client.stream(input, options)));
    },
    async reconnectToStream({ chatId }) {
      const taskId = chats.get(chatId);
      return taskId === undefined ? null : uiMessageStream(noted(chatId, client.follow(taskId)));
    },
  };
}

/** Remembers the task of a chat for as long as it goes on. */
function note(chats: Map<string, string>, chatId: string, task: Task | undefined): void {
  const state = task?.status?.state ?? 0;
  const isOver = task === undefined || isTerminal(state) || isInterrupted(state);
  if (isOver) chats.delete(chatId);
  else if (chats.get(chatId) !== task.id) {
    chats.set(chatId, task.id);
    if (chats.size > MAX_CHATS) chats.delete(chats.keys().next().value as string);
  }
}

/** The context of the last answer, and its task where that waits for the next message. */
function placeOf(messages: readonly UIMessageLike[]): { contextId?: string; taskId?: string } {
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
    const { type, text, url, mediaType, filename, data } = part as Readonly<Record<string, unknown>>;
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
