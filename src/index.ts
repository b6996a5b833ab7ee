// For those who write agents, serve them and embed them. Beside it: `parley-a2a/fetch` and `parley-a2a/fastify` for other
// runtimes and frameworks, `parley-a2a/testing`, the stores, and for other libraries `parley-a2a/extend` and `parley-a2a/store`.

export { AbortReason } from "./agent/abort.js";
export {
  type AcceptRequest,
  type Agent,
  AgentError,
  type Recovery,
  type Turn,
  turnWith,
} from "./agent/agent.js";
export type {
  AgentCardInput,
  ApiKeySecurityScheme,
  HttpAuthSecurityScheme,
  MutualTlsSecurityScheme,
  OAuth2SecurityScheme,
  OAuthFlows,
  OpenIdConnectSecurityScheme,
  SecuritySchemeInput,
  SecuritySchemes,
} from "./agent/card-input.js";
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
  type PartInput,
  type ReplyEvent,
  rejected,
  reply,
  type StatusEvent,
  working,
} from "./agent/event.js";
export { type TextOptions, type TextStream, type ToolCall, text } from "./agent/text.js";
export type { Authenticator } from "./auth/authenticator.js";
export { ConfigurationError } from "./card/faults.js";
export { Call, type CallStart, type Peer } from "./core/call.js";
export { anonymous, type Caller, type CallerInput } from "./core/caller.js";
export {
  A2AError,
  type A2AErrorOptions,
  type Reason,
  type ReasonRow,
  StatusCode,
  type StatusName,
  type Violation,
} from "./core/error.js";
export { defaultLimits, type Limits } from "./core/limits.js";
export { type Logger, silentLogger } from "./core/log.js";
export type { FetchOrigin } from "./http/fetch/exchange.js";
export type { FetchHandler } from "./http/fetch/handler.js";
export type { NextHandler, NodeHandler } from "./http/node/handler.js";
export type { TlsFiles } from "./http/node/listen.js";
export type { NodeServerRequest, NodeServerResponse } from "./http/node/types.js";
export { type A2A, type CloseOptions, createA2A } from "./server/create-a2a.js";
export { createServer, type Server } from "./server/create-server.js";
export type { Readiness } from "./server/health.js";
export type { A2AOptions, ServerOptions } from "./server/options.js";
export {
  type Answer,
  type Interceptor,
  type Invocation,
  type Invoke,
  isCallOf,
  isStream,
  type Next,
} from "./service/invoke.js";
export { RESUME_EXTENSION } from "./service/resume.js";
export type { TaskStore } from "./store/task-store.js";
