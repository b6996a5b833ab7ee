import { useEffect, useState, useSyncExternalStore } from "react";
import type { ConversationStorage } from "../follow/conversation.js";
import { type ConversationClient, ConversationStore, type ConversationView, EMPTY } from "./conversation-store.js";
import { NO_TASK, TaskStore, type TaskView } from "./task-store.js";

/** Options of `useConversation`. */
export interface UseConversationOptions {
  /**
   * Where the conversation is kept, so that it goes on after a reload: `sessionStorage` for this tab, `localStorage` for all. It has what was
   * said as it is. Default: nowhere.
   */
  readonly storage?: ConversationStorage;
  /** The name that it is kept under. Default `parley-conversation`. */
  readonly name?: string;
}

/** Result of `useConversation`: the conversation and its operations. */
export interface UsedConversation extends ConversationView {
  /** Sends a message, to the task that waits for one or to a new one. False while a turn is under way, and without a client. */
  readonly send: ConversationStore["send"];
  /** Stops the turn that is under way: its task is canceled. */
  readonly stop: ConversationStore["stop"];
  /** Forgets all, and begins a new conversation. */
  readonly reset: ConversationStore["reset"];
}

/**
 * Hook for a conversation with an agent. Streams go on after cuts; with a storage also after a reload.
 *
 * @param client undefined until it is connected
 */
export function useConversation(
  client: ConversationClient | undefined,
  { storage, name = "parley-conversation" }: UseConversationOptions = {},
): UsedConversation {
  const store = useKept([client, storage, name], () => new ConversationStore(client, storage, name));
  const view = useSyncExternalStore(store.subscribe, store.view, emptyConversation);
  useEffect(() => store.attach(), [store]);
  return { ...view, send: store.send, stop: store.stop, reset: store.reset };
}

/**
 * Hook for one task, from its present state on.
 *
 * @param client undefined until it is connected
 * @param taskId undefined until there is one
 */
export function useTask(client: ConversationClient | undefined, taskId: string | undefined): TaskView {
  const store = useKept([client, taskId], () => new TaskStore(client, taskId));
  const view = useSyncExternalStore(store.subscribe, store.view, noTask);
  useEffect(() => store.attach(), [store]);
  return view;
}

const emptyConversation = (): ConversationView => EMPTY;
const noTask = (): TaskView => NO_TASK;

/** A value that is made anew when one of its keys is another, and never otherwise. */
function useKept<T>(keys: readonly unknown[], make: () => T): T {
  const [kept, keep] = useState(() => ({ keys, value: make() }));
  if (keys.every((key, at) => key === kept.keys[at])) return kept.value;
  const next = { keys, value: make() };
  keep(next);
  return next.value;
}
