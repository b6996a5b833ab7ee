// Security schemes of agents, and the callers that they find. `SecurityScheme` is the interface for a
// scheme of your own.

export { anonymous, type Caller, type CallerInput, type OwnerOf } from "../core/call.js";
export { type ApiKey, type ApiKeySchemeOptions, apiKeyScheme } from "./api-key.js";
export type { Authenticator } from "./authenticator.js";
export { type CustomSchemeOptions, customScheme } from "./custom.js";
export { type BasicUser, type HttpBasicSchemeOptions, httpBasicScheme } from "./http-basic.js";
export { type BearerToken, type HttpBearerSchemeOptions, httpBearerScheme } from "./http-bearer.js";
export type { Introspection } from "./introspection.js";
export { type JsonWebKeySet, type JwtSchemeOptions, jwtScheme } from "./jwt.js";
export { type MutualTlsSchemeOptions, mutualTlsScheme } from "./mutual-tls.js";
export {
  type OAuth2SchemeOptions,
  type OpenIdConnectSchemeOptions,
  oauth2Scheme,
  openIdConnectScheme,
} from "./oauth2.js";
export { type Finding, Refusal, type SchemeCheck, type SchemeParts, type SecurityScheme } from "./scheme.js";
export type {
  ApiKeySecurityScheme,
  HttpAuthSecurityScheme,
  MutualTlsSecurityScheme,
  OAuth2SecurityScheme,
  OAuthFlows,
  OpenIdConnectSecurityScheme,
  SecuritySchemeInput,
  SecuritySchemes,
} from "./scheme-card.js";
export type { AgentSecurity, RequirementInput, SkillSecurity } from "./security.js";
