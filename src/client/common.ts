// Exports of the client on every runtime: `index.ts` for Node.js and `web.ts` for all others.

export { A2AError, type A2AErrorOptions, type Reason, StatusCode, type Violation } from "../core/error.js";
export { generationOf } from "../wire/marks.js";
export type { CallOptions, FollowOptions, SendOnceOptions, SendOptions, StreamOptions } from "./call-options.js";
export { CardCache } from "./card-cache.js";
export type { A2AClient } from "./client.js";
export type { Connect } from "./connect.js";
export type { Conversation, ConversationState } from "./conversation.js";
export type { Credential, CredentialContext, Credentials, CredentialTarget } from "./credential.js";
export { apiKey } from "./credentials/api-key.js";
export { basic } from "./credentials/basic.js";
export { bearer } from "./credentials/bearer.js";
export { type Choice, type ChooseOptions, chooseCredentials } from "./credentials/choose.js";
export { clientCertificate } from "./credentials/client-certificate.js";
export type { Secret, SecretAsk, SentOptions } from "./credentials/secret.js";
export type { CardOptions, CardSource, HeaderFields, VerifiedCard } from "./discovery.js";
export { clientError, neverArrived } from "./errors.js";
export type { Binding } from "./interfaces.js";
export { type ClientLimits, defaultClientLimits } from "./limits.js";
export type { MessageFields, MessageInput } from "./message-input.js";
export type { Notification, NotifiedTasks } from "./notified.js";
export type { ClientOptions } from "./options.js";
export type {
  ClientTls,
  HttpAnswer,
  HttpAsk,
  HttpClient,
  Platform,
  PlatformOptions,
  TransportSettings,
} from "./platform.js";
export type { CreateTransport, RawTransport, RawTransportOptions } from "./raw.js";
export type { Answer } from "./send.js";
export type { Update } from "./update.js";
