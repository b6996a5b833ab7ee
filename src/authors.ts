// Exports of every runtime: for authors of agents, and for servers of any kind. `index.ts` and
// `fetch.ts` add what each of them serves with.

export { AbortReason } from "./agent/abort.js";
export type { AgentCardInput } from "./agent/agent.js";
export {
  type AcceptRequest,
  type Agent,
  type ExtendedCard,
  type Recovery,
  type Turn,
  turnWith,
} from "./agent/agent.js";
export type {
  CallOptions,
  DelegatedContent,
  DelegateOptions,
  RemoteAgent,
  RemoteAnswer,
  RemoteMessage,
  RemoteOptions,
  RemoteUpdate,
  SubTask,
} from "./agent/delegation.js";
export { AgentError, DelegationError, TurnPaused } from "./agent/errors.js";
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
export type { ToolCall } from "./agent/model-pieces.js";
export { type TextOptions, type TextStream, text } from "./agent/text.js";
export type { AuditLog, AuditRecord } from "./audit/audit.js";
export { type AuditEvent, type AuditEventRow, type AuditOutcome, auditEvents } from "./audit/events.js";
export { type ApiKey, type ApiKeyOptions, apiKey } from "./auth/api-key.js";
export type { Authenticator } from "./auth/authenticator.js";
export { type CustomOptions, custom } from "./auth/custom.js";
export { type BasicOptions, type BasicUser, httpBasic } from "./auth/http-basic.js";
export { type BearerOptions, type BearerToken, httpBearer } from "./auth/http-bearer.js";
export type { Introspection } from "./auth/introspection.js";
export { type JsonWebKeySet, type JwtOptions, jwt } from "./auth/jwt.js";
export { type MutualTlsOptions, mutualTls } from "./auth/mutual-tls.js";
export { type OAuth2Options, type OpenIdConnectOptions, oauth2, openIdConnect } from "./auth/oauth2.js";
export { type Finding, Refusal, type SchemeCheck, type SchemeParts, type SecurityScheme } from "./auth/scheme.js";
export type {
  ApiKeySecurityScheme,
  HttpAuthSecurityScheme,
  MutualTlsSecurityScheme,
  OAuth2SecurityScheme,
  OAuthFlows,
  OpenIdConnectSecurityScheme,
  SecuritySchemeInput,
  SecuritySchemes,
} from "./auth/scheme-card.js";
export type { AgentSecurity, RequirementInput, SkillSecurity } from "./auth/security.js";
export { ConfigurationError } from "./card/faults.js";
export type { CardAlgorithm } from "./card/signing/algorithms.js";
export type { CardKey } from "./card/signing/card-keys.js";
export type { CardSigning } from "./card/signing/signer.js";
export { Call, type CallStart, type ClientCertificate, type Peer } from "./core/call.js";
export { anonymous, type Caller, type CallerInput, type OwnerOf } from "./core/caller.js";
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
export type { RemoteAgentOptions, RemoteAgents } from "./delegation/options.js";
export type { FetchHandler, FetchOrigin } from "./http/fetch/handler.js";
export type {
  PushEvent,
  PushOptions,
  PushSigningOptions,
  TargetLookup,
  TargetOptions,
  TargetTls,
} from "./push/options.js";
