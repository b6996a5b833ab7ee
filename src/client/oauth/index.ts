// Gets tokens for the client by OAuth 2.0 and OpenID Connect, wherever WebCrypto and fetch exist. A
// separate entry point, because it needs `openid-client`.

export {
  type AuthorizationCodeCredential,
  type AuthorizationCodeOptions,
  authorizationCode,
  type SignInAgent,
  type SignInOptions,
} from "./authorization-code.js";
export { type ClientCredentialsOptions, clientCredentials } from "./client-credentials.js";
export { type DeviceCodeOptions, type DevicePrompt, deviceCode } from "./device-code.js";
export { defaultOAuthLimits, type OAuthLimits, type OAuthOptions } from "./options.js";
export { type OAuthStorage, type WebStorage, webStorage } from "./storage.js";
