/** Kinds of metrics: counters only grow, gauges are read, histograms count values by size. */
export type MetricKind = "counter" | "gauge" | "histogram";

/** Description of one metric. */
export interface MetricRow {
  /** Name in Prometheus. */
  readonly name: string;
  /** Name in OpenTelemetry: that of a stable convention where one exists. */
  readonly otel: string;
  readonly kind: MetricKind;
  /** Base unit, which also ends the name. Absent for numbers of things. */
  readonly unit?: "seconds" | "bytes";
  /** One sentence. */
  readonly help: string;
  /** Names of the labels. Their values are fixed lists (`Metrics`). Default: none. */
  readonly labels?: readonly string[];
  /** Rule that joins the values of a server's processes. Default: their sum. */
  readonly across?: "max" | "min";
}

/** Keys of the metrics that are counted in cells. */
export type CellName =
  | "calls"
  | "callDuration"
  | "callsOpen"
  | "requestsRefused"
  | "limitRefusals"
  | "auditEvents"
  | "executions"
  | "executionDuration"
  | "firstEvent"
  | "appendDuration"
  | "entries"
  | "commitDuration"
  | "storeWrites"
  | "deliveryDuration"
  | "deadLetters";

/** Keys of the metrics whose values are computed on each read. */
export type GaugeName =
  | "buildInfo"
  | "ready"
  | "executionsRunning"
  | "executionsWaiting"
  | "readerLag"
  | "storeBytes"
  | "storeHealthy"
  | "leases"
  | "tasksOpen"
  | "tasksInterrupted"
  | "deliveriesWorking"
  | "deliveriesWaiting"
  | "deliveriesDue"
  | "deliveriesDead"
  | "failingHosts"
  | "eventLoopDelay"
  | "cpuSeconds"
  | "memoryBytes"
  | "heapBytes"
  | "startTime";

/** Key of a metric in the table. */
export type MetricName = CellName | GaugeName;

/** Every metric, in the order of the text and of docs/metrics.md. */
export const metricTable: Readonly<Record<MetricName, MetricRow>> = {
  buildInfo: {
    name: "parley_build_info",
    otel: "parley.build.info",
    kind: "gauge",
    across: "max",
    help: "Always 1; the labels name the versions and the kind of the store.",
    labels: ["version", "node_version", "store"],
  },
  ready: {
    name: "parley_ready",
    otel: "parley.ready",
    kind: "gauge",
    across: "max",
    help: "1 for the present state of the server, 0 for the others.",
    labels: ["state"],
  },

  calls: {
    name: "parley_calls_total",
    otel: "parley.calls",
    kind: "counter",
    help: "Calls that ended, streams included. The code is OK or the reason of the error.",
    labels: ["binding", "method", "version", "code"],
  },
  callDuration: {
    name: "parley_call_duration_seconds",
    otel: "rpc.server.call.duration",
    kind: "histogram",
    unit: "seconds",
    help: "Time from the request to the end of the answer or stream.",
    labels: ["binding", "method", "version", "code"],
  },
  callsOpen: {
    name: "parley_calls_open",
    otel: "parley.calls.open",
    kind: "gauge",
    help: "Calls that are being answered, streams included.",
    labels: ["method"],
  },
  requestsRefused: {
    name: "parley_requests_refused_total",
    otel: "parley.requests.refused",
    kind: "counter",
    help: "Requests that were refused before they became calls of a method.",
    labels: ["binding", "code"],
  },
  limitRefusals: {
    name: "parley_limit_refusals_total",
    otel: "parley.limit.refusals",
    kind: "counter",
    help: "Calls, requests, connections and events of agents that a limit refused.",
    labels: ["limit"],
  },
  auditEvents: {
    name: "parley_audit_events_total",
    otel: "parley.audit.events",
    kind: "counter",
    help: "Events of the audit log, including those that it joins or does not write.",
    labels: ["event"],
  },

  executionsRunning: {
    name: "parley_executions_running",
    otel: "parley.executions.running",
    kind: "gauge",
    help: "Tasks of this process whose agent runs.",
  },
  executionsWaiting: {
    name: "parley_executions_waiting",
    otel: "parley.executions.waiting",
    kind: "gauge",
    help: "Tasks and direct replies of this process that wait for an execution slot.",
  },
  executions: {
    name: "parley_executions_total",
    otel: "parley.executions",
    kind: "counter",
    help: "Executions that ended, by outcome.",
    labels: ["outcome"],
  },
  executionDuration: {
    name: "parley_execution_duration_seconds",
    otel: "parley.execution.duration",
    kind: "histogram",
    unit: "seconds",
    help: "Time from the start of an execution, or from when it was queued, to its end.",
  },
  firstEvent: {
    name: "parley_first_event_seconds",
    otel: "parley.first_event",
    kind: "histogram",
    unit: "seconds",
    help: "Time from the start of an agent's turn to its first event.",
  },
  readerLag: {
    name: "parley_reader_lag_entries",
    otel: "parley.reader.lag",
    kind: "gauge",
    across: "max",
    help: "Entries by which the slowest open stream lags behind its task's log.",
  },

  appendDuration: {
    name: "parley_append_duration_seconds",
    otel: "parley.append.duration",
    kind: "histogram",
    unit: "seconds",
    help: "Time of an append to a task's log, from the request to the store's answer.",
  },
  entries: {
    name: "parley_entries_total",
    otel: "parley.entries",
    kind: "counter",
    help: "Entries that this process stored.",
  },
  commitDuration: {
    name: "parley_store_commit_duration_seconds",
    otel: "parley.store.commit.duration",
    kind: "histogram",
    unit: "seconds",
    help: "Time of a transaction of the store's writer, with the sync to disk.",
  },
  storeWrites: {
    name: "parley_store_writes_total",
    otel: "parley.store.writes",
    kind: "counter",
    help: "Writes in the transactions of the store's writer.",
  },
  storeBytes: {
    name: "parley_store_bytes",
    otel: "parley.store.size",
    kind: "gauge",
    across: "max",
    unit: "bytes",
    help: "Size of the store's files; 0 for a store in memory.",
  },
  storeHealthy: {
    name: "parley_store_healthy",
    otel: "parley.store.healthy",
    kind: "gauge",
    across: "min",
    help: "1 while the store accepts writes, 0 while it fails.",
  },
  leases: {
    name: "parley_leases",
    otel: "parley.leases",
    kind: "gauge",
    help: "Tasks that this process has the right to execute, counted up to 10,000.",
  },
  tasksOpen: {
    name: "parley_tasks_open",
    otel: "parley.tasks.open",
    kind: "gauge",
    across: "max",
    help: "Tasks of all owners in the store that have not ended.",
  },
  tasksInterrupted: {
    name: "parley_tasks_interrupted",
    otel: "parley.tasks.interrupted",
    kind: "gauge",
    across: "max",
    help: "Tasks in the store that wait for a person, counted up to 10,000.",
  },

  deliveryDuration: {
    name: "parley_delivery_duration_seconds",
    otel: "parley.delivery.duration",
    kind: "histogram",
    unit: "seconds",
    help: "Time of an attempt to deliver a notification, by its result.",
    labels: ["result"],
  },
  deadLetters: {
    name: "parley_dead_letters_total",
    otel: "parley.dead_letters",
    kind: "counter",
    help: "Push configurations whose deliveries this process gave up.",
  },
  deliveriesWorking: {
    name: "parley_deliveries_working",
    otel: "parley.deliveries.working",
    kind: "gauge",
    help: "Push configurations to which this process delivers now.",
  },
  deliveriesWaiting: {
    name: "parley_deliveries_waiting",
    otel: "parley.deliveries.waiting",
    kind: "gauge",
    help: "Push configurations that wait in this process for a slot of their host.",
  },
  deliveriesDue: {
    name: "parley_deliveries_due",
    otel: "parley.deliveries.due",
    kind: "gauge",
    across: "max",
    help: "Push configurations in the store with entries to deliver, counted up to 10,000.",
  },
  deliveriesDead: {
    name: "parley_deliveries_dead",
    otel: "parley.deliveries.dead",
    kind: "gauge",
    across: "max",
    help: "Push configurations in the store whose deliveries were given up, counted up to 10,000.",
  },
  failingHosts: {
    name: "parley_delivery_failing_hosts",
    otel: "parley.delivery.failing_hosts",
    kind: "gauge",
    across: "max",
    help: "Hosts of receivers whose last delivery failed.",
  },

  eventLoopDelay: {
    name: "parley_event_loop_delay_seconds",
    otel: "parley.event_loop.delay",
    kind: "gauge",
    across: "max",
    unit: "seconds",
    help: "Delay of the event loop since the previous reading.",
    labels: ["stat"],
  },
  cpuSeconds: {
    name: "process_cpu_seconds_total",
    otel: "process.cpu.time",
    kind: "counter",
    unit: "seconds",
    help: "CPU time of the process, all threads.",
  },
  memoryBytes: {
    name: "process_resident_memory_bytes",
    otel: "process.memory.usage",
    kind: "gauge",
    unit: "bytes",
    help: "Resident memory of the process.",
  },
  heapBytes: {
    name: "nodejs_heap_size_used_bytes",
    otel: "v8js.memory.heap.used",
    kind: "gauge",
    unit: "bytes",
    help: "Used heap of JavaScript, without buffers.",
  },
  startTime: {
    name: "process_start_time_seconds",
    otel: "process.start_time",
    kind: "gauge",
    across: "min",
    unit: "seconds",
    help: "Start of the process, in seconds since 1970.",
  },
};
