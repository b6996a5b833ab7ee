// Exports of the client on every runtime: `index.ts` for Node.js and `web.ts` for all others.

export { Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
export { A2AError, type A2AErrorOptions, type Reason, StatusCode, type Violation } from "../core/error.js";
export type { Answer, Update } from "../task/answer.js";
export type { MessageFields, MessageInput } from "../task/message-input.js";
export {
  dataOf,
  filesOf,
  type PlainFile,
  type PlainPart,
  partsOf,
  type ReadableArtifact,
  type ReadableMessage,
  type ReadablePart,
  type ReadableTask,
  textOf,
  type WithContent,
} from "../task/plain.js";
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
