// `parley-a2a/fetch`: agents in a runtime other than Node.js, such as Cloudflare's workerd. It has everything of `parley-a2a`
// except ports, handlers for Node's requests and gRPC, and imports only modules of Node.js that such runtimes offer. Tasks are
// kept in `parley-a2a/store/memory` there.

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
export { createA2A, type FetchA2A } from "./server/create-fetch-a2a.js";
export type { Readiness } from "./server/health.js";

export type { A2AOptions } from "./server/options.js";
export type { Interceptor, Invocation } from "./service/invoke.js";
