// Connects agents to the components of the AI SDK.

export type { ConversationStorage } from "../follow/conversation.js";
export {
  type AgentChatTransport,
  type ChatClient,
  type ChatTransportOptions,
  chatTransport,
  type ReconnectToStream,
  type SendMessages,
  type UIMessageLike,
} from "./chat-transport.js";
export {
  type A2AMetadata,
  type ArtifactData,
  type MessageData,
  type StatusData,
  type UIChunk,
  uiMessageStream,
} from "./chunks.js";
