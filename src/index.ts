// Write agents, and serve them on ports of their own or embedded in another Node.js server.

export type { AdminOptions, AdminRoles, AdminToken } from "./admin/options.js";
export * from "./authors.js";
export type { ConsoleOptions } from "./console/options.js";
export type { NextHandler, NodeHandler } from "./http/node/handler.js";
export type { TlsFiles } from "./http/node/tls.js";
export type { DeadLetter, DeadLetterQuery, PushControl } from "./push/dead-letters.js";
export type { PushStatus } from "./push/dispatcher-options.js";
export { type A2A, type AdminMount, type CloseOptions, type ConsoleMount, createA2A } from "./server/create-a2a.js";
export { createServer, type Server } from "./server/create-server.js";
export type { Readiness } from "./server/health.js";
export type { A2AOptions, ServerOptions } from "./server/options.js";
export type { TlsPaths } from "./server/tls-reload.js";
export {
  type Invocation,
  type InvocationResult,
  type Invoke,
  isCallOf,
  isStream,
  type ServiceInterceptor,
} from "./service/invoke.js";
export { DELEGATION_EXTENSION, IDEMPOTENCY_EXTENSION, RESUME_EXTENSION } from "./wire/service-params.js";
