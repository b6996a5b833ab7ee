import { useEffect, useState, useSyncExternalStore } from "react";
import { assertOptions, aText, havingFunctions, type OptionChecks } from "../../core/options.js";
import type { ConversationStorage } from "../follow/conversation.js";
import { type ConversationClient, ConversationStore, type ConversationView, EMPTY } from "./conversation-store.js";
import { NO_TASK, TaskStore, type TaskView } from "./task-store.js";

/** Options of `useConversation`. */
export interface UseConversationOptions {
  /**
   * Storage of the conversation, so that it continues after a reload: `sessionStorage` for this tab, `localStorage` for
   * all. It contains the messages in plain text. Default: none.
   */
  readonly storage?: ConversationStorage;
  /** Its key in the storage. Default `parley-conversation`. */
  readonly name?: string;
}

const checks: OptionChecks<UseConversationOptions> = {
  storage: havingFunctions("getItem", "setItem", "removeItem"),
  name: aText(),
};

/** Result of `useConversation`: the conversation and its operations. */
export interface UsedConversation extends ConversationView {
  /**
   * Sends a message, to the waiting task or to a new one. Returns false while a turn is running, and without a client.
   * The message of a failed turn, sent again, replaces that turn.
   */
  readonly send: ConversationStore["send"];
  /** Stops the running turn by canceling its task. */
  readonly stop: ConversationStore["stop"];
  /** Clears everything and starts a new conversation. */
  readonly reset: ConversationStore["reset"];
}

/**
 * Hook for a conversation with an agent. Streams resume after a lost connection; with a storage also after a reload.
 *
 * @param client undefined until it is connected
 * @throws TypeError for invalid options
 */
export function useConversation(
  client: ConversationClient | undefined,
  options: UseConversationOptions = {},
): UsedConversation {
  const { storage, name = "parley-conversation" } = options;
  const store = useKept([client, storage, name], () => {
    assertOptions("useConversation(client, options)", options, checks);
    return new ConversationStore(client, storage, name);
  });
  const view = useSyncExternalStore(store.subscribe, store.view, emptyConversation);
  useEffect(() => store.attach(), [store]);
  return { ...view, send: store.send, stop: store.stop, reset: store.reset };
}

/**
 * Hook for one task, from its current state on.
 *
 * @param client undefined until it is connected
 * @param taskId undefined until it is known
 */
export function useTask(client: ConversationClient | undefined, taskId: string | undefined): TaskView {
  const store = useKept([client, taskId], () => new TaskStore(client, taskId));
  const view = useSyncExternalStore(store.subscribe, store.view, noTask);
  useEffect(() => store.attach(), [store]);
  return view;
}

const emptyConversation = (): ConversationView => EMPTY;
const noTask = (): TaskView => NO_TASK;

/** Returns a value that is created again only when one of its keys changes. */
function useKept<T>(keys: readonly unknown[], make: () => T): T {
  const [kept, keep] = useState(() => ({ keys, value: make() }));
  if (keys.every((key, at) => key === kept.keys[at])) return kept.value;
  const next = { keys, value: make() };
  keep(next);
  return next.value;
}
