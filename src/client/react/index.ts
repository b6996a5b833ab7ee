// Shows agents in React components.

export type { ConversationStorage } from "../follow/conversation.js";
export type { ConversationClient, ConversationTurn, ConversationView } from "./conversation-store.js";
export { type UseConversationOptions, type UsedConversation, useConversation, useTask } from "./hooks.js";
export type { TurnPhase } from "./storage.js";
export type { TaskView } from "./task-store.js";
