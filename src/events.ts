// Events that an agent yields, and the content of their messages.

export {
  type AgentEvent,
  type ArtifactEvent,
  type ArtifactInput,
  artifact,
  authRequired,
  type Content,
  canceled,
  completed,
  failed,
  inputRequired,
  type MessageContent,
  type MetadataEvent,
  metadata,
  type PartInput,
  type ReplyEvent,
  rejected,
  reply,
  type StatusEvent,
  working,
} from "./agent/event.js";
export type { ToolCall } from "./agent/model-pieces.js";
export { type TextOptions, type TextStream, text } from "./agent/text.js";
