import { metricNames } from "./names.js";

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
  /** Description in one sentence. */
  readonly help: string;
  /** Names of the labels. Their values are fixed lists (`Metrics`). Default: none. */
  readonly labels?: readonly string[];
  /** Rule that joins the values of a server's processes. Default: their sum. */
  readonly across?: "max" | "min";
}

/** Key of a metric. */
export type MetricName = keyof typeof metricNames;

const rows: Readonly<Record<MetricName, Omit<MetricRow, "name" | "otel">>> = {
  buildInfo: {
    kind: "gauge",
    across: "max",
    help: "Always 1; the labels name the versions and the kind of the store.",
    labels: ["version", "node_version", "store"],
  },
  ready: {
    kind: "gauge",
    across: "max",
    help: "1 for the present state of the server, 0 for the others.",
    labels: ["state"],
  },

  calls: {
    kind: "counter",
    help: "Calls that ended, streams included. The code is OK or the reason of the error.",
    labels: ["binding", "method", "version", "code"],
  },
  callDuration: {
    kind: "histogram",
    unit: "seconds",
    help: "Time from the request to the end of the answer or stream.",
    labels: ["binding", "method", "version", "code"],
  },
  callsOpen: { kind: "gauge", help: "Calls that are being answered, streams included.", labels: ["method"] },
  requestsRefused: {
    kind: "counter",
    help: "Requests that were refused before they became calls of a method.",
    labels: ["binding", "code"],
  },
  limitRefusals: {
    kind: "counter",
    help: "Calls, requests, connections and events of agents that a limit refused.",
    labels: ["limit"],
  },
  auditEvents: {
    kind: "counter",
    help: "Events of the audit log, including those that it joins or does not write.",
    labels: ["event"],
  },

  executionsRunning: { kind: "gauge", help: "Tasks of this process whose agent runs." },
  executionsWaiting: {
    kind: "gauge",
    help: "Tasks and direct replies of this process that wait for an execution slot.",
  },
  executions: { kind: "counter", help: "Executions that ended, by outcome.", labels: ["outcome"] },
  executionDuration: {
    kind: "histogram",
    unit: "seconds",
    help: "Time from the start of an execution, or from when it was queued, to its end.",
  },
  firstEvent: {
    kind: "histogram",
    unit: "seconds",
    help: "Time from the start of an agent's turn to its first event.",
  },
  readerLag: {
    kind: "gauge",
    across: "max",
    help: "Entries by which the slowest open stream lags behind its task's log.",
  },

  appendDuration: {
    kind: "histogram",
    unit: "seconds",
    help: "Time of an append to a task's log, from the request to the store's answer.",
  },
  entries: { kind: "counter", help: "Entries that this process stored." },
  commitDuration: {
    kind: "histogram",
    unit: "seconds",
    help: "Time of a transaction of the store's writer, with the sync to disk.",
  },
  storeWrites: { kind: "counter", help: "Writes in the transactions of the store's writer." },
  storeBytes: {
    kind: "gauge",
    across: "max",
    unit: "bytes",
    help: "Size of the store's files; 0 for a store in memory.",
  },
  storeHealthy: { kind: "gauge", across: "min", help: "1 while the store accepts writes, 0 while it fails." },
  leases: { kind: "gauge", help: "Tasks that this process has the right to execute, counted up to 10,000." },
  tasksOpen: { kind: "gauge", across: "max", help: "Tasks of all owners in the store that have not ended." },
  tasksInterrupted: {
    kind: "gauge",
    across: "max",
    help: "Tasks in the store that wait for a person, counted up to 10,000.",
  },

  deliveryDuration: {
    kind: "histogram",
    unit: "seconds",
    help: "Time of an attempt to deliver a notification, by its result.",
    labels: ["result"],
  },
  deadLetters: { kind: "counter", help: "Push configurations whose deliveries this process gave up." },
  deliveriesWorking: { kind: "gauge", help: "Push configurations to which this process delivers now." },
  deliveriesWaiting: { kind: "gauge", help: "Push configurations that wait in this process for a slot of their host." },
  deliveriesDue: {
    kind: "gauge",
    across: "max",
    help: "Push configurations in the store with entries to deliver, counted up to 10,000.",
  },
  deliveriesDead: {
    kind: "gauge",
    across: "max",
    help: "Push configurations in the store whose deliveries were given up, counted up to 10,000.",
  },
  failingHosts: { kind: "gauge", across: "max", help: "Hosts of receivers whose last delivery failed." },

  eventLoopDelay: {
    kind: "gauge",
    across: "max",
    unit: "seconds",
    help: "Delay of the event loop since the previous reading.",
    labels: ["stat"],
  },
  cpuSeconds: { kind: "counter", unit: "seconds", help: "CPU time of the process, all threads." },
  memoryBytes: { kind: "gauge", unit: "bytes", help: "Resident memory of the process." },
  heapBytes: { kind: "gauge", unit: "bytes", help: "Used heap of JavaScript, without buffers." },
  startTime: { kind: "gauge", across: "min", unit: "seconds", help: "Start of the process, in seconds since 1970." },
};

/** Every metric, in the order of the text and of docs/metrics.md. Its names are in names.ts. */
export const metricTable: Readonly<Record<MetricName, MetricRow>> = Object.fromEntries(
  Object.entries(rows).map(([key, row]) => [key, { ...metricNames[key as MetricName], ...row }]),
) as Record<MetricName, MetricRow>;
