// For those who serve agents.

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
// For other libraries: what stores, bindings and interceptors of their own are made against.
export type { BindingOptions, HttpBinding } from "./binding/binding.js";
export type { GrpcBinding } from "./binding/grpc/binding.js";
export { type AgentDirectory, type AgentRegistration, type AgentsInput, registerAgents } from "./card/agents.js";
export { buildCard, type ServerCapabilities } from "./card/build.js";
export { ConfigurationError } from "./card/faults.js";
export { CONNECT_BINDING, type Endpoints, interfacesOf, PROTOCOL_VERSION, withInterfaces } from "./card/interfaces.js";
export { Call, type CallStart, type Peer } from "./core/call.js";
export { anonymous, type Caller, type CallerInput } from "./core/caller.js";
export { A2AError, type A2AErrorOptions, type Reason, type Violation } from "./core/error.js";
export { defaultLimits, type Limits } from "./core/limits.js";
export { type Logger, silentLogger } from "./core/log.js";
export type { FetchOrigin } from "./http/fetch/exchange.js";
export type { FetchHandler } from "./http/fetch/handler.js";
export type { NextHandler, NodeHandler } from "./http/node/handler.js";
export type { TlsFiles } from "./http/node/listen.js";
export type { NodeServerRequest, NodeServerResponse } from "./http/node/types.js";
export type { HttpRequest, RequestTarget } from "./http/request.js";
export type { BodySource, BodyWriter, HeaderPairs, HttpResponse } from "./http/response.js";
export { type A2A, type CloseOptions, createA2A } from "./server/create-a2a.js";
export { createServer, type Server } from "./server/create-server.js";
export type { Readiness } from "./server/health.js";
export type { A2AOptions, ServerOptions } from "./server/options.js";
export {
  type Answer,
  chain,
  type Interceptor,
  type Invocation,
  type Invoke,
  isCallOf,
  isStream,
  type Next,
} from "./service/invoke.js";
export { RESUME_EXTENSION } from "./service/resume.js";
export { alwaysHealthy, HealthSource, type StoreHealth, type StoreStatus } from "./store/health.js";
export * from "./store/task-store.js";
