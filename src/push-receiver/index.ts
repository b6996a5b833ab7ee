// Verifies push notifications of A2A servers in a webhook. It does not start a server.

export type { StreamResponse } from "../../gen/lf/a2a/v1/a2a_pb.js";
export type { Logger } from "../core/log.js";
export type { JsonWebKeySet } from "../jwt/verifier.js";
export type { PushEvent, PushSignature } from "./event.js";
export type { PushHandler } from "./handling.js";
export { type PushMark, type PushMemory, type PushOrder, pushMemory } from "./memory.js";
export type { NodePushHandler, NodePushRequest, NodePushResponse } from "./node.js";
export type { NotifiedTask, PushReceiverLimits, PushReceiverOptions, PushServer } from "./options.js";
export { createPushReceiver, type PushReceiver } from "./receiver.js";
export { PushRefusal, type PushRefusalCode } from "./refusal.js";
export type { PushHeaders, PushRequest } from "./request.js";
export { pushSecretOf } from "./secrets.js";
