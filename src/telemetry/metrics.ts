import type { DescMethod } from "@bufbuild/protobuf";
import type { AuditFacts } from "../audit/audit.js";
import { auditEvents } from "../audit/events.js";
import { type Reason, reasons, StatusCode } from "../core/error.js";
import { defaultLimits, fixedLimits, type Limits } from "../core/limits.js";
import { membersOf } from "../core/members.js";
import { Counter, type GaugeReader, type GaugeValue, Histogram, type Observations, type Series } from "./cells.js";
import { type MetricName, type MetricRow, metricTable } from "./metric-table.js";

/** Last value of the lists that callers can leave, for everything that is not in them. */
export const OTHER = "other";

/** Results of an attempt to deliver a notification. */
export const deliveryResults = ["accepted", "refused", "failed", "forbidden"] as const;

/** Outcomes of an execution: the state of its task, or `left` for one that another process continues. */
export const executionOutcomes = [
  "completed",
  "failed",
  "canceled",
  "rejected",
  "input_required",
  "auth_required",
  "left",
] as const;

const callBindings = ["grpc", "connect", "grpc-web", "jsonrpc", "rest"];
const codes = ["OK", ...Object.keys(reasons), OTHER];
const refusalCodes = [...new Set([...Object.keys(reasons), ...Object.keys(StatusCode)]), OTHER];

/**
 * Limits that refuse nothing: they make work wait, bound a time, or end something that is counted elsewhere. All other
 * limits count their refusals.
 */
const refusingNothing: ReadonlySet<keyof Limits> = new Set([
  "maxDeliveries",
  "maxDeliveriesPerHost",
  "maxDeliveriesPerHostPerSecond",
  "pushTimeoutMs",
  "maxPushRetryMs",
  "maxPushAgeMs",
  "maxExecutions",
  "maxExecutionsPerOwner",
  "maxInterruptedMs",
  "maxStallMs",
  "maxBlockingMs",
  "requestTimeoutMs",
  "sendTimeoutMs",
  "cancelGraceMs",
  "storeRecoveryMs",
  "credentialMemoryMs",
  "expiredStreamGraceMs",
  "remoteTimeoutMs",
  "shutdownGraceMs",
]);

/** Names of the limits that refuse something, fixed ones last. */
export const refusingLimits: readonly string[] = [
  ...(Object.keys(defaultLimits) as (keyof Limits)[]).filter((name) => !refusingNothing.has(name)),
  ...Object.keys(fixedLimits),
];

/** Bounds of durations in seconds: calls, appends and commits, from 0.5 milliseconds to 10 seconds. */
const shortTimes = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Bounds of the times of agents, from 10 milliseconds to an hour. */
const longTimes = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];

/** One metric with its values. */
export interface MetricFamily {
  readonly row: MetricRow;
  /** Start of counting, in milliseconds since 1970. */
  readonly since: number;
  /** Full name of the service whose methods are counted. */
  readonly service: string;
  /** Values of counters and gauges. */
  readonly numbers: readonly Series<number>[];
  /** Values of histograms. */
  readonly histograms: readonly Series<Observations>[];
  /** Bounds of a histogram. */
  readonly bounds: readonly number[];
}

/** Keys of the metrics whose values are computed on each read. All others are members of `Metrics`. */
type GaugeName = Exclude<MetricName, keyof Metrics>;

/** Names of the served methods and versions, which bound the number of series. */
export interface MetricNames {
  /** The methods of the service. */
  readonly methods: readonly DescMethod[];
  /** Names of the protocol versions that are served. */
  readonly versions: readonly string[];
}

/**
 * The numbers of one server. The parts of the server count in cells, which costs a few nanoseconds. Everything else is
 * computed when a reader asks.
 */
export class Metrics {
  readonly calls: Counter;
  readonly callDuration: Histogram;
  readonly callsOpen: Counter;
  readonly requestsRefused: Counter = new Counter({
    binding: [...callBindings, "http", OTHER],
    code: refusalCodes,
  });
  readonly limitRefusals: Counter = new Counter({ limit: [...refusingLimits, OTHER] });
  readonly auditEvents: Counter = new Counter({ event: Object.keys(auditEvents) });
  readonly executions: Counter = new Counter({ outcome: executionOutcomes });
  readonly executionDuration: Histogram = new Histogram(longTimes);
  readonly firstEvent: Histogram = new Histogram(longTimes);
  readonly appendDuration: Histogram = new Histogram(shortTimes);
  readonly entries: Counter = new Counter();
  readonly commitDuration: Histogram = new Histogram(shortTimes);
  readonly storeWrites: Counter = new Counter();
  readonly deliveryDuration: Histogram = new Histogram(shortTimes, { result: deliveryResults });
  readonly deadLetters: Counter = new Counter();
  /** Names of the methods, whose order is that of the cells of `callsOpen`. */
  readonly methods: readonly string[];
  readonly #since = Date.now();
  readonly #service: string;
  readonly #streaming: ReadonlySet<string>;
  #isProduced = false;
  readonly #gauges = new Map<MetricName, GaugeReader>();

  constructor({ methods, versions }: MetricNames) {
    this.#service = methods[0]?.parent.typeName ?? "";
    this.#streaming = new Set(methods.filter(({ methodKind }) => methodKind !== "unary").map(({ name }) => name));
    this.methods = [...methods.map(({ name }) => name), OTHER];
    this.calls = new Counter({
      binding: [...callBindings, OTHER],
      method: this.methods,
      version: [...versions, OTHER],
      code: codes,
    });
    this.callDuration = new Histogram(shortTimes, this.calls.sets);
    this.callsOpen = new Counter({ method: this.methods });
  }

  /** Counts a call that begins. */
  callBegan(method: string): void {
    this.callsOpen.add(this.callsOpen.sets.at(method));
  }

  /** Number of calls that are being answered, streams included. */
  openCalls(): number {
    return this.methods.reduce((sum, _, index) => sum + this.callsOpen.get(index), 0);
  }

  /** Number of calls that have ended, streams included. */
  endedCalls(): number {
    return this.calls.read().reduce((sum, { value }) => sum + value, 0);
  }

  /** Number of open streams. */
  openStreams(): number {
    return this.methods.reduce(
      (sum, name, index) => sum + (this.#streaming.has(name) ? this.callsOpen.get(index) : 0),
      0,
    );
  }

  /** Counts a call that ended. @param seconds since it began */
  callEnded(call: CallLabels, code: "OK" | Reason, seconds: number): void {
    const { binding, method, version } = call;
    this.callsOpen.add(this.callsOpen.sets.at(method), -1);
    const index = this.calls.sets.at(binding, method, version, code);
    this.calls.add(index);
    this.callDuration.observe(seconds, index);
  }

  /** Counts an append that was stored. */
  appended(entries: number, seconds: number): void {
    this.entries.add(0, entries);
    this.appendDuration.observe(seconds);
  }

  /** Counts an attempt to deliver a notification. */
  attempted(result: (typeof deliveryResults)[number], ms: number): void {
    this.deliveryDuration.observe(ms / 1_000, this.deliveryDuration.sets.at(result));
  }

  /** Counts an event of the audit log, and the refusal that it reports. */
  audited({ event, limit, count = 1 }: Pick<AuditFacts, "event" | "limit" | "count">): void {
    this.auditEvents.add(this.auditEvents.sets.at(event));
    if (event === "limit.hit" && limit !== undefined) this.limitRefusals.add(this.limitRefusals.sets.at(limit), count);
  }

  /** Counts a request that was refused before it became a call. */
  requestRefused(binding: string, code: string | undefined): void {
    this.requestsRefused.add(this.requestsRefused.sets.at(binding, code));
  }

  /** Counts a refusal by a limit. */
  limitRefused(limit: string | undefined): void {
    if (limit !== undefined) this.limitRefusals.add(this.limitRefusals.sets.at(limit));
  }

  /** Number of refusals by a limit. */
  refusalsByLimit(limit: string): number {
    return refusingLimits.includes(limit) ? this.limitRefusals.get(this.limitRefusals.sets.at(limit)) : 0;
  }

  /** True once a `MetricProducer` reports these numbers: observable instruments then report nothing. */
  get isProduced(): boolean {
    return this.#isProduced;
  }

  noteProduced(): void {
    this.#isProduced = true;
  }

  /** Sets how a gauge is read. A gauge without a reader is not reported. */
  gauge(name: GaugeName, read: GaugeReader): void {
    this.#gauges.set(name, read);
  }

  /** Reads all metrics, in the order of the table. A gauge whose reader fails is left out. */
  async read(): Promise<MetricFamily[]> {
    const names = Object.keys(metricTable) as MetricName[];
    const families = await Promise.all(names.map((name) => this.#family(name)));
    return families.filter((family) => family !== undefined);
  }

  async #family(name: MetricName): Promise<MetricFamily | undefined> {
    const row: MetricRow = metricTable[name];
    const family = { row, since: this.#since, service: this.#service, numbers: [], histograms: [], bounds: [] };
    const cells: unknown = membersOf(this)[name];
    if (cells instanceof Counter) return { ...family, numbers: cells.read() };
    if (cells instanceof Histogram) return { ...family, histograms: cells.read(), bounds: cells.bounds };
    const value = await this.#gaugeValue(name);
    if (value === undefined) return undefined;
    return { ...family, numbers: typeof value === "number" ? [{ labels: [], value }] : value };
  }

  async #gaugeValue(name: MetricName): Promise<GaugeValue> {
    try {
      return await this.#gauges.get(name)?.();
    } catch {
      // The store may be failing, which `parley_store_healthy` reports.
      return undefined;
    }
  }
}

/** Labels that a call is counted under. */
export interface CallLabels {
  readonly binding: string;
  readonly method: string;
  readonly version: string;
}
