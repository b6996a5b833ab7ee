export {
  type AgentChatTransport,
  type ChatClient,
  chatTransport,
  type SendMessages,
  type UIMessageLike,
} from "./chat-transport.js";
export { type A2AMetadata, type ArtifactData, type StatusData, type UIChunk, uiMessageStream } from "./chunks.js";
