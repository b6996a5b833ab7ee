/** Limits of sizes, counts and times that clients, agents and other servers determine. */
export interface Limits {
  /** Size of a request on any binding, in bytes. Default 8 MiB. */
  readonly maxRequestBytes: number;
  /**
   * Total size of the requests that are being received, in bytes; at least `maxRequestBytes`. One eighth is reserved
   * for small requests, and one address may use half. Default 256 MiB.
   */
  readonly maxArrivingBytes: number;
  /**
   * Size of a task as JSON in its widest form, in bytes; at most 448 MiB, because V8 limits the length of a string.
   * Messages beyond it are refused; an agent that exceeds it fails its task. The results of the task's steps are counted
   * on their own, with the same limit. Default 256 MiB.
   */
  readonly maxTaskBytes: number;
  /**
   * Size of a client's message as JSON, in bytes, on any binding. Over JSON `maxRequestBytes` is reached first. Default
   * 16 MiB.
   */
  readonly maxMessageBytes: number;
  /** Parts of a client's message. Default 1,000. */
  readonly maxParts: number;
  /** Push configurations of a task that has not ended or has undelivered notifications. Default 16. */
  readonly maxPushConfigsPerTask: number;
  /** Push configurations of all such tasks of an owner, across tenants if callers may name any. Default 10,000. */
  readonly maxPushConfigsPerOwner: number;
  /** Push configurations delivered to at once. Default 256. */
  readonly maxDeliveries: number;
  /** Push configurations delivered to at once on one host (scheme, name and port of the URL). Default 16. */
  readonly maxDeliveriesPerHost: number;
  /** Notifications to one host per second, on average; a tenth of them may be sent at once. Default 100. */
  readonly maxDeliveriesPerHostPerSecond: number;
  /**
   * Time for one notification, in milliseconds, from the look-up of the name to the end of the webhook's answer.
   * Default 15 seconds.
   */
  readonly pushTimeoutMs: number;
  /**
   * Maximum delay between two attempts, in milliseconds, also if a webhook asks for more (`Retry-After`). Default 1
   * hour.
   */
  readonly maxPushRetryMs: number;
  /** Time of failures after which a push configuration becomes a dead letter, in milliseconds. Default 24 hours. */
  readonly maxPushAgeMs: number;
  /**
   * Stored size of the large tasks and events held for readers that have not taken them yet, in bytes. Several readers
   * of one task count once. A larger one is served alone. Default 256 MiB.
   */
  readonly maxOutgoingBytes: number;
  /** Share of `maxOutgoingBytes` of one caller (an owner, or an address), in bytes. Default 64 MiB. */
  readonly maxOutgoingBytesPerCaller: number;
  /**
   * Size of a gRPC answer, in bytes; a larger one fails with an error that explains the alternatives. Default 2 GiB,
   * the limit of clients.
   */
  readonly maxGrpcAnswerBytes: number;
  /** Streams open at once over all bindings. Default 20,000. */
  readonly maxStreams: number;
  /** Unary calls in progress over all bindings. Default 20,000. */
  readonly maxCalls: number;
  /** Unary calls in progress of one caller: an authenticated owner, or an address. Default 10,000. */
  readonly maxCallsPerCaller: number;
  /** Streams open at once of one caller. Default 10,000. */
  readonly maxStreamsPerCaller: number;
  /** Subscriptions of one caller to one task. Default 1,000. */
  readonly maxSubscriptionsPerTaskPerCaller: number;
  /**
   * Calls per second from one address (of IPv6: from one network of 64 bits), or 0 for no limit. Members of a JSON-RPC
   * batch count each. The right value depends on the agent and on proxies. Default 0.
   */
  readonly maxRequestsPerSecondPerAddress: number;
  /** Calls per second of one caller (an authenticated owner, or an address), or 0 for no limit. Default 0. */
  readonly maxRequestsPerSecondPerCaller: number;
  /** Connections open at once on both ports together. Default 40,000. */
  readonly maxConnections: number;
  /**
   * Connections open at once from one address (of IPv6: from one network of 64 bits). Trusted proxies have no such
   * limit. Default 20,000.
   */
  readonly maxConnectionsPerAddress: number;
  /** Executions that run at once. Later ones wait in a queue: their tasks are stored as SUBMITTED. Default 10,000. */
  readonly maxExecutions: number;
  /**
   * Executions of one owner that run at once, across tenants if callers may name any. Anonymous callers are one owner
   * in each tenant. Default 5,000.
   */
  readonly maxExecutionsPerOwner: number;
  /**
   * Executions in the queue, in which owners take turns; further messages are refused without being stored. Default
   * 10,000.
   */
  readonly maxQueuedExecutions: number;
  /** Executions of one owner in the queue. Default 5,000. */
  readonly maxQueuedExecutionsPerOwner: number;
  /**
   * Tasks of one owner that have not ended, executing or not. Each further process that shares the store may exceed it by
   * a 64th, at least by one. Default 100,000.
   */
  readonly maxOpenTasksPerOwner: number;
  /**
   * Time that an idle task may wait for its client (INPUT_REQUIRED, AUTH_REQUIRED) before it is canceled, in
   * milliseconds. The precision is a tenth of it, or a minute. Default 720 hours, which are 30 days.
   */
  readonly maxInterruptedMs: number;
  /**
   * Time that an agent may block the event loop before other processes may take over the tasks of this one, in
   * milliseconds. Default 60 seconds.
   */
  readonly maxStallMs: number;
  /** Longest wait of a blocking call, in milliseconds. Default 1 hour. */
  readonly maxBlockingMs: number;
  /** Time to receive a request's headers, then its body, in milliseconds. Default 60 seconds. */
  readonly requestTimeoutMs: number;
  /**
   * Time without progress after which a connection with waiting data is closed, in milliseconds.
   * Default 60 seconds.
   */
  readonly sendTimeoutMs: number;
  /** Time for an agent to stop after a cancel, in milliseconds. Default 5 seconds. */
  readonly cancelGraceMs: number;
  /**
   * Time that a store may fail in a way that only a restart repairs before the server gives up, in milliseconds
   * (`failureSignal`; `parley serve` exits with code 75). Default 30 seconds.
   */
  readonly storeRecoveryMs: number;
  /**
   * Time for which a verified token is cached, in milliseconds, never beyond its expiry. A revoked token may be
   * accepted for that long. Default 60 seconds.
   */
  readonly credentialMemoryMs: number;
  /**
   * Time for which a stream continues after its credentials have expired, in milliseconds. It then ends as
   * UNAUTHENTICATED; the task continues, and the caller may subscribe with new credentials. Default 1 hour.
   */
  readonly expiredStreamGraceMs: number;
  /**
   * Failed authentications from one address that are checked without delay, over all processes that share a store.
   * Default 20.
   */
  readonly maxFailedAttempts: number;
  /** Time for a call of another agent with one answer, in milliseconds. Default 60 seconds. */
  readonly remoteTimeoutMs: number;
  /** Time for running work and open calls to end at shutdown, in milliseconds. Default 10 seconds. */
  readonly shutdownGraceMs: number;
}

/**
 * Limits that errors name but no option sets, each with its meaning. Their values are constants beside their use, which
 * `fixedLimitValues` in `server/admin.ts` collects.
 */
export const fixedLimits = {
  maxAdminCalls: "Unary calls of operators in progress",
  maxAdminStreams: "Streams of operators open at once",
  maxArrivingPerAddress: "Requests that are being received from one address; trusted proxies have no such limit",
  maxArtifactBytes: "Size of an artifact as JSON",
  maxDelegationDepth: "Agents that hand work to each other in a chain",
  maxOpenRequestBytes: "Memory of the large requests in progress; one caller may use half",
  maxQueuedBytes: "Size of the messages that wait for an execution slot; one owner may use half",
  maxRemoteCalls: "Calls of other agents in progress, with delegations",
  maxRequestValues: "Values in a request: fields, list elements, members of JSON",
  maxSubscriptionsPerTask: "Subscriptions to one task",
  maxUnverifiedPerAddress: "Credentials of one address that are checked at once; 32 times as many calls may wait",
  maxWaitingTurns: "Messages that wait for one task",
} as const;

/** Name of a limit that no option sets. */
export type FixedLimit = keyof typeof fixedLimits;

/**
 * Upper bound of `maxTaskBytes`. The JSON of a task is one string, V8's longest string has 512 MiB, and the end of the
 * task and the answer around it have to fit as well.
 */
export const MAX_TASK_BYTES: number = 448 * 1024 * 1024;

/** Divisors of the heap size that cap the defaults of these limits: 4 means a quarter of the heap. */
const heapParts = {
  maxArrivingBytes: 4,
  maxOutgoingBytes: 4,
  maxOutgoingBytesPerCaller: 8,
} satisfies Partial<Record<keyof Limits, number>>;

/** Returns the heap limit of this process, in bytes; Infinity if the runtime does not report it. */
export function heapLimit(): number {
  const v8 = globalThis.process?.getBuiltinModule?.("node:v8");
  const bytes = v8?.getHeapStatistics?.().heap_size_limit ?? 0;
  return bytes > 0 ? bytes : Number.POSITIVE_INFINITY;
}

/** Returns a bound in bytes, or the given part of a smaller heap. */
export function withinHeap(bytes: number, part: number): number {
  return Math.min(bytes, Math.floor(heapLimit() / part));
}

/** Returns the defaults for a process with the given maximum heap size. */
export function defaultLimitsOf(heapBytes: number): Limits {
  const names = Object.keys(heapParts) as (keyof typeof heapParts)[];
  const parts = names.map((name) => [name, Math.min(defaultLimits[name], Math.floor(heapBytes / heapParts[name]))]);
  return { ...defaultLimits, ...Object.fromEntries(parts) };
}

/** Defaults of the limits. */
export const defaultLimits: Limits = {
  maxRequestBytes: 8 * 1024 * 1024,
  maxArrivingBytes: 256 * 1024 * 1024,
  maxTaskBytes: 256 * 1024 * 1024,
  maxMessageBytes: 16 * 1024 * 1024,
  maxParts: 1_000,
  maxPushConfigsPerTask: 16,
  maxPushConfigsPerOwner: 10_000,
  maxDeliveries: 256,
  maxDeliveriesPerHost: 16,
  maxDeliveriesPerHostPerSecond: 100,
  pushTimeoutMs: 15_000,
  maxPushRetryMs: 3_600_000,
  maxPushAgeMs: 24 * 3_600_000,
  maxOutgoingBytes: 256 * 1024 * 1024,
  maxOutgoingBytesPerCaller: 64 * 1024 * 1024,
  maxGrpcAnswerBytes: 2 ** 31 - 1,
  maxStreams: 20_000,
  maxCalls: 20_000,
  maxCallsPerCaller: 10_000,
  maxStreamsPerCaller: 10_000,
  maxSubscriptionsPerTaskPerCaller: 1_000,
  maxRequestsPerSecondPerAddress: 0,
  maxRequestsPerSecondPerCaller: 0,
  maxConnections: 40_000,
  maxConnectionsPerAddress: 20_000,
  maxExecutions: 10_000,
  maxExecutionsPerOwner: 5_000,
  maxQueuedExecutions: 10_000,
  maxQueuedExecutionsPerOwner: 5_000,
  maxOpenTasksPerOwner: 100_000,
  maxInterruptedMs: 30 * 24 * 3_600_000,
  maxStallMs: 60_000,
  maxBlockingMs: 3_600_000,
  requestTimeoutMs: 60_000,
  sendTimeoutMs: 60_000,
  cancelGraceMs: 5_000,
  storeRecoveryMs: 30_000,
  credentialMemoryMs: 60_000,
  expiredStreamGraceMs: 3_600_000,
  maxFailedAttempts: 20,
  remoteTimeoutMs: 60_000,
  shutdownGraceMs: 10_000,
};
