// Exports of the client on every runtime: `index.ts` for Node.js and `web.ts` for all others.

export * from "../task/exports.js";
export type { MessageFields } from "../task/message-input.js";
export { generationOf } from "../wire/marks.js";
export type { CallOptions, FollowOptions, SendOnceOptions, SendOptions, StreamOptions } from "./calls/call-options.js";
export type { A2AClient } from "./client.js";
export { apiKey } from "./credentials/api-key.js";
export { basic } from "./credentials/basic.js";
export { bearer } from "./credentials/bearer.js";
export { type Choice, type ChooseOptions, chooseCredentials, clientCertificate } from "./credentials/choose.js";
export type { Credential, CredentialContext, Credentials, CredentialTarget } from "./credentials/credential.js";
export type { Secret, SecretAsk, SentOptions } from "./credentials/secret.js";
export { CardCache } from "./discovery/card-cache.js";
export type { CardOptions, CardSource, HeaderFields, VerifiedCard } from "./discovery/discovery.js";
export type { Binding } from "./discovery/interfaces.js";
export { clientError, neverArrived } from "./errors/errors.js";
export type { Conversation, ConversationState } from "./follow/conversation.js";
export type { Notification, NotifiedTasks } from "./follow/notified.js";
export { type ClientLimits, defaultClientLimits } from "./limits.js";
export type { ClientOptions } from "./options.js";
export type { ClientTls } from "./platform.js";
export type { TransportOptions } from "./raw.js";
