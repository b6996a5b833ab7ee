// Exports of every runtime: for authors of agents, and for servers of any kind. `index.ts` and
// `fetch.ts` add their servers.

export { AbortReason } from "./agent/abort.js";
export type { AcceptRequest, Agent, AgentCardInput, ExtendedCard, Recovery, Turn } from "./agent/agent.js";
export type {
  ConversationMessage,
  ConversationPageOptions,
  ConversationTask,
  TurnConversation,
  TurnConversationState,
} from "./agent/conversation.js";
export type {
  DelegatedContent,
  DelegateOptions,
  RemoteAgent,
  RemoteOptions,
  SubTask,
  TurnCallOptions,
} from "./agent/delegation.js";
export {
  AgentError,
  DelegationError,
  FormDeclined,
  StepError,
  StepOrderError,
  TurnPaused,
} from "./agent/errors.js";
// The events of most agents; `parley-a2a/events` has all of them.
export { type AgentEvent, artifact, completed, inputRequired, reply, working } from "./agent/event.js";
export type { FormOptions } from "./agent/form.js";
export type { FormRequest } from "./agent/form-part.js";
export type { FormAnswer, FormSchema } from "./agent/schema.js";
export type { StepOptions, StepWork } from "./agent/steps.js";
export { text } from "./agent/text.js";
export type { AuditLog, AuditRecord } from "./audit/audit.js";
export { type AuditEvent, type AuditOutcome, auditEvents } from "./audit/events.js";
export { ConfigurationError } from "./card/faults.js";
export { Call, type ClientCertificate, type Peer } from "./core/call.js";
export { defaultLimits, type Limits } from "./core/limits.js";
export { type Logger, silentLogger } from "./core/log.js";
export type { RemoteAgentOptions, RemoteAgentRegistry, RemoteAgents } from "./delegation/options.js";
export type { FetchHandler, FetchOrigin } from "./http/fetch/handler.js";
export type { PushEventKind, PushOptions, PushSigningOptions, TargetOptions, TargetTls } from "./push/options.js";
export * from "./task/exports.js";
