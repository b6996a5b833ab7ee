export type { ConversationStorage } from "../conversation-storage.js";
export type { ConversationClient, ConversationView, Turn, TurnPhase } from "./conversation-store.js";
export { type UseConversationOptions, type UsedConversation, useConversation, useTask } from "./hooks.js";
export type { TaskView } from "./task-store.js";
