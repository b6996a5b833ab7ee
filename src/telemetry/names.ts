// Names of spans, attributes and metrics, and their fixed values. No other file has any, which test/telemetry/names.test.ts
// checks.

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

/** Names of metrics in Prometheus and in OpenTelemetry, there of a stable convention if one exists. */
export const metricNames = {
  buildInfo: { name: "parley_build_info", otel: "parley.build.info" },
  ready: { name: "parley_ready", otel: "parley.ready" },
  calls: { name: "parley_calls_total", otel: "parley.calls" },
  callDuration: { name: "parley_call_duration_seconds", otel: "rpc.server.call.duration" },
  callsOpen: { name: "parley_calls_open", otel: "parley.calls.open" },
  requestsRefused: { name: "parley_requests_refused_total", otel: "parley.requests.refused" },
  limitRefusals: { name: "parley_limit_refusals_total", otel: "parley.limit.refusals" },
  auditEvents: { name: "parley_audit_events_total", otel: "parley.audit.events" },
  executionsRunning: { name: "parley_executions_running", otel: "parley.executions.running" },
  executionsWaiting: { name: "parley_executions_waiting", otel: "parley.executions.waiting" },
  executions: { name: "parley_executions_total", otel: "parley.executions" },
  executionDuration: { name: "parley_execution_duration_seconds", otel: "parley.execution.duration" },
  firstEvent: { name: "parley_first_event_seconds", otel: "parley.first_event" },
  readerLag: { name: "parley_reader_lag_entries", otel: "parley.reader.lag" },
  appendDuration: { name: "parley_append_duration_seconds", otel: "parley.append.duration" },
  entries: { name: "parley_entries_total", otel: "parley.entries" },
  commitDuration: { name: "parley_store_commit_duration_seconds", otel: "parley.store.commit.duration" },
  storeWrites: { name: "parley_store_writes_total", otel: "parley.store.writes" },
  storeBytes: { name: "parley_store_bytes", otel: "parley.store.size" },
  storeHealthy: { name: "parley_store_healthy", otel: "parley.store.healthy" },
  leases: { name: "parley_leases", otel: "parley.leases" },
  tasksOpen: { name: "parley_tasks_open", otel: "parley.tasks.open" },
  tasksInterrupted: { name: "parley_tasks_interrupted", otel: "parley.tasks.interrupted" },
  deliveryDuration: { name: "parley_delivery_duration_seconds", otel: "parley.delivery.duration" },
  deadLetters: { name: "parley_dead_letters_total", otel: "parley.dead_letters" },
  deliveriesWorking: { name: "parley_deliveries_working", otel: "parley.deliveries.working" },
  deliveriesWaiting: { name: "parley_deliveries_waiting", otel: "parley.deliveries.waiting" },
  deliveriesDue: { name: "parley_deliveries_due", otel: "parley.deliveries.due" },
  deliveriesDead: { name: "parley_deliveries_dead", otel: "parley.deliveries.dead" },
  failingHosts: { name: "parley_delivery_failing_hosts", otel: "parley.delivery.failing_hosts" },
  eventLoopDelay: { name: "parley_event_loop_delay_seconds", otel: "parley.event_loop.delay" },
  cpuSeconds: { name: "process_cpu_seconds_total", otel: "process.cpu.time" },
  memoryBytes: { name: "process_resident_memory_bytes", otel: "process.memory.usage" },
  heapBytes: { name: "nodejs_heap_size_used_bytes", otel: "v8js.memory.heap.used" },
  startTime: { name: "process_start_time_seconds", otel: "process.start_time" },
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

/** The flag of a sampled span, as a number of the API. */
export const SAMPLED = 1;

/** The status of a failed span, as a number of the API. */
export const STATUS_ERROR = 2;
