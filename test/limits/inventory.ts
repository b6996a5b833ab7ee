import type { BindingName } from "../support/driver.js";

/** The enforcement of one limit on every binding. */
export interface Holding {
  /**
   * The part that enforces the limit. `call`: the service, which every binding enters through one function. `request`:
   * the readers of requests, on the gRPC port and for HTTP. `answer`: the writers of answers. `connection`: the sockets
   * of both ports. `work`: the engine, the store, or a part that no call waits for.
   */
  readonly at: "call" | "request" | "answer" | "connection" | "work";
  /** The test that fails without the limit, or `none`. */
  readonly test: string;
  /** The reason for a missing test. */
  readonly why?: string;
  /** The limit's name in that test, if it differs. */
  readonly as?: string;
  /** Bindings without the limit, with the reason. */
  readonly not?: Partial<Record<BindingName | "fetch", string>>;
}

const _noBatch = "there are batches in JSON-RPC alone";
const notGrpc = "no message of gRPC";
const noPort = "no port of ours";
const everyBinding = { at: "call", test: "limits/requests.test.ts" } as const;
const callers = { at: "call", test: "limits/callers.test.ts", not: {} } as const;
const executions = { at: "call", test: "limits/executions.test.ts" } as const;
const connection = { at: "connection", test: "network/connections.test.ts", not: { fetch: noPort } } as const;
const auth = { at: "call", test: "auth/bounds.test.ts" } as const;
const _issuer = { at: "work", test: "auth/issuer.test.ts" } as const;
const push = { at: "work", test: "push/dispatcher.test.ts" } as const;
const _audit = { at: "work", test: "audit/recorder.test.ts" } as const;

/** Every limit. */
export const inventory: Readonly<Record<string, Holding>> = {
  maxRequestBytes: { at: "request", test: "limits/requests.test.ts" },
  maxArrivingBytes: { at: "request", test: "network/arriving.test.ts" },
  maxTaskBytes: { at: "work", test: "engine/size.test.ts" },
  maxMessageBytes: everyBinding,
  maxParts: everyBinding,
  maxPushConfigsPerTask: { at: "call", test: "conformance/setups.ts" },
  maxPushConfigsPerOwner: { at: "call", test: "conformance/setups.ts" },
  maxDeliveries: push,
  maxDeliveriesPerHost: push,
  maxDeliveriesPerHostPerSecond: push,
  pushTimeoutMs: push,
  maxPushRetryMs: push,
  maxPushAgeMs: { at: "work", test: "push/giving-up.test.ts" },
  maxOutgoingBytes: { at: "answer", test: "network/outgoing-limits.test.ts" },
  maxOutgoingBytesPerCaller: { at: "answer", test: "network/outgoing-limits.test.ts" },
  maxGrpcAnswerBytes: {
    at: "answer",
    test: "network/outgoing-limits.test.ts",
    not: { jsonrpc: notGrpc, rest: notGrpc, connect: notGrpc },
  },
  maxStreams: { at: "call", test: "conformance/setups.ts" },
  maxCalls: { at: "call", test: "conformance/setups.ts" },
  maxCallsPerCaller: callers,
  maxStreamsPerCaller: callers,
  maxSubscriptionsPerTaskPerCaller: callers,
  maxRequestsPerSecondPerAddress: callers,
  maxRequestsPerSecondPerCaller: callers,
  maxConnections: connection,
  maxConnectionsPerAddress: connection,
  maxExecutions: executions,
  maxExecutionsPerOwner: executions,
  maxQueuedExecutions: executions,
  maxQueuedExecutionsPerOwner: executions,
  maxOpenTasksPerOwner: executions,
  maxInterruptedMs: { at: "work", test: "engine/interrupted.test.ts" },
  maxStallMs: { at: "work", test: "engine/recovery.test.ts" },
  maxBlockingMs: everyBinding,
  requestTimeoutMs: { at: "request", test: "network/time-limits.test.ts" },
  sendTimeoutMs: { at: "connection", test: "network/stalls.test.ts", not: { fetch: noPort } },
  cancelGraceMs: { at: "work", test: "engine/any-agent.test.ts" },
  storeRecoveryMs: { at: "work", test: "server/embedded-health.test.ts" },
  credentialMemoryMs: auth,
  expiredStreamGraceMs: { at: "call", test: "auth/stream-expiry.test.ts" },
  maxFailedAttempts: auth,
  remoteTimeoutMs: { at: "work", test: "delegation/limits.test.ts" },
  shutdownGraceMs: { at: "work", test: "server/direct-calls.test.ts" },
};
