// Names of spans and attributes in OpenTelemetry, and their fixed values. No other file has any. The names of metrics are in
// metric-table.ts. test/telemetry/names.test.ts checks both.

/** The instrumentation scope of all spans and metrics. */
export const SCOPE = "parley-a2a";

/** Names of spans besides those of calls, which have the name of their method. */
export const spanNames = {
  /** One turn of an agent. The name of the agent follows. */
  turn: "turn",
  /** One step of a turn. The name of the step follows. */
  step: "step",
  /** One delegation of a turn. The name of the other agent follows, if the server's options name it. */
  delegation: "delegate",
  /** One attempt to deliver a push notification. */
  push: "push",
} as const;

/**
 * Attributes of the RPC conventions and of the general ones that they use. Stable since version 1.45 of the semantic
 * conventions: https://github.com/open-telemetry/semantic-conventions/blob/v1.45.0/docs/rpc/README.md
 */
export const rpc = {
  system: "rpc.system.name",
  method: "rpc.method",
  statusCode: "rpc.response.status_code",
  errorType: "error.type",
  serverAddress: "server.address",
  serverPort: "server.port",
  clientAddress: "client.address",
  clientPort: "client.port",
} as const;

/** Attributes of the HTTP conventions. Stable. */
export const http = {
  method: "http.request.method",
  statusCode: "http.response.status_code",
} as const;

/** Attributes of the conventions for JSON-RPC. In development. */
export const jsonRpc = {
  requestId: "jsonrpc.request.id",
  version: "jsonrpc.protocol.version",
} as const;

/**
 * Attributes of the draft conventions for A2A, and of those for generative AI that it refers to. In development:
 * https://github.com/open-telemetry/semantic-conventions-genai/pull/195
 */
export const a2a = {
  method: "a2a.method.name",
  version: "a2a.protocol.version",
  tenant: "a2a.tenant",
  messageId: "a2a.message.id",
  referenceTaskIds: "a2a.message.reference_task_ids",
  taskId: "a2a.task.id",
  /** Values such as `TASK_STATE_WORKING`. */
  taskState: "a2a.task.state",
  contextId: "gen_ai.conversation.id",
  agentName: "gen_ai.agent.name",
  agentVersion: "gen_ai.agent.version",
  agentDescription: "gen_ai.agent.description",
} as const;

/** Attributes that no convention has. */
export const parley = {
  /** Binding of a call, in metrics: `grpc`, `grpc-web`, `connect`, `jsonrpc` or `rest`. */
  binding: "parley.binding",
  /** Reason of an error, such as `TASK_NOT_FOUND`, which several bindings give the same code. */
  errorReason: "parley.error.reason",
  /** Position of a turn's message in the log of its task. */
  turn: "parley.turn.position",
  /** Attempt of a turn, from 1. */
  attempt: "parley.turn.attempt",
  stepName: "parley.step.name",
  delegation: "parley.delegation.name",
  /** Generation of the event that a notification tells. */
  generation: "parley.push.generation",
  /** Number of failed attempts before this one. */
  pushAttempts: "parley.push.failed_attempts",
} as const;

/** Prefix of the attributes of metrics that no convention has. The name of the label follows. */
export const LABEL_PREFIX = "parley.";

/** Value of `error.type` for a request to a webhook that has no complete answer. */
export const REQUEST_FAILED = "request_failed";

/** Values of `rpc.system.name`, by binding. HTTP+JSON has none in the conventions. */
export const rpcSystems: Readonly<Record<string, string>> = {
  grpc: "grpc",
  "grpc-web": "grpc",
  connect: "connectrpc",
  jsonrpc: "jsonrpc",
  rest: "http_json",
};

/** Kinds of spans, as numbers of the API. */
export const spanKinds = { internal: 0, server: 1, client: 2 } as const;

/** The status of a failed span, as a number of the API. */
export const STATUS_ERROR = 2;
