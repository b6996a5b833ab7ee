import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { makeRoom } from "../../core/make-room.js";
import { isTerminal } from "../../task/state.js";
import type { ConversationStorage } from "../conversation-storage.js";
import { waits } from "../resumed.js";

/** A chat whose last task is under way. */
export interface Chat {
  readonly taskId: string;
  /** The signal of the latest stream that was resumed. */
  resumed?: AbortSignal;
}

/** Chats in memory; the oldest are forgotten first. */
const MAX_CHATS = 100;

/** The tasks that chats wait for, by the id of the chat; with a storage also after a reload. */
export class Chats {
  readonly #storage: ConversationStorage | undefined;
  readonly #chats = new Map<string, Chat>();

  constructor(storage: ConversationStorage | undefined) {
    this.#storage = storage;
  }

  get(chatId: string): Chat | undefined {
    const chat = this.#chats.get(chatId);
    if (chat !== undefined) return chat;
    const taskId = this.#storage?.getItem(keyOf(chatId)) ?? "";
    return taskId === "" ? undefined : this.#set(chatId, { taskId });
  }

  /** Remembers the task of a chat for as long as it is under way. */
  note(chatId: string, task: Task | undefined): void {
    const state = task?.status?.state ?? 0;
    if (task === undefined || isTerminal(state) || waits(task)) return this.forget(chatId);
    if (this.#chats.get(chatId)?.taskId === task.id) return;
    this.#set(chatId, { taskId: task.id });
    try {
      this.#storage?.setItem(keyOf(chatId), task.id);
    } catch {
      // A page without room for it continues; only a reload loses the task.
    }
  }

  forget(chatId: string): void {
    this.#chats.delete(chatId);
    this.#storage?.removeItem(keyOf(chatId));
  }

  #set(chatId: string, chat: Chat): Chat {
    if (!this.#chats.has(chatId)) makeRoom(this.#chats, MAX_CHATS);
    this.#chats.set(chatId, chat);
    return chat;
  }
}

function keyOf(chatId: string): string {
  return `parley-chat:${chatId}`;
}
