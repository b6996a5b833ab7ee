// For clients that get tokens by OAuth 2.0 and OpenID Connect. It runs wherever there is WebCrypto and fetch, and brings `openid-client`
// along, which is why it is an entry of its own.

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
