// Agents built on models: `aiAgent` makes one from a model and tools of the AI SDK, and the other functions give models
// the conversation in agents of your own. Only `aiAgent` needs the package `ai` (6 or 7).

export { aiAgent } from "./agent.js";
export { type AskUserOptions, askUser } from "./ask-user.js";
export { modelMessages } from "./model-messages.js";
export {
  type ChatPart,
  chatMessages,
  type OpenAIMessage,
  type ResponsesPart,
  responsesInput,
} from "./openai-messages.js";
export type { AIAgentOptions, ModelSettings, PerTurn } from "./options.js";
export type { TalkOptions } from "./talk.js";
