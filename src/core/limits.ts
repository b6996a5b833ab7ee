/** Every outside size, count and time has a limit; these are all of them, with their defaults. */
export interface Limits {
  /** One request, in bytes, on any binding. Default 8 MiB. */
  readonly maxRequestBytes: number;
  /**
   * Requests that are still arriving, in bytes, over all connections; at least `maxRequestBytes`. An eighth is kept for
   * small ones, and one address may have half. Default 256 MiB.
   */
  readonly maxArrivingBytes: number;
  /** Requests from one address that have begun and are still arriving. Trusted proxies may have any number. Default 4,096. */
  readonly maxArrivingPerAddress: number;
  /**
   * Memory of the large requests in progress, in bytes; each value of JSON counts as 100. A request counts until it is answered, a
   * message until its execution has ended. One caller may have half. A larger request is served where nothing else is in progress.
   * Default 1 GiB.
   */
  readonly maxOpenRequestBytes: number;
  /** Values in one request (fields, list elements, members of JSON), whatever their size. Default 50,000. */
  readonly maxRequestValues: number;
  /** Bytes of the tasks on one page of a list, as stored; a page ends early there. Default 16 MiB. */
  readonly maxPageBytes: number;
  /**
   * One task, in bytes as JSON, the widest of its forms. What would make it larger is refused; an agent that does fails
   * its task. Default 256 MiB; at most 448 MiB, since the longest text of V8 is little more.
   */
  readonly maxTaskBytes: number;
  /** One artifact, in bytes as JSON. Default 256 MiB. */
  readonly maxArtifactBytes: number;
  /** One message of a client, in bytes as JSON, on whatever binding it came; on JSON the request's own limit is met first. Default 16 MiB. */
  readonly maxMessageBytes: number;
  /** Characters of an id, a context id, a tenant, a file name, a media type or an idempotency key. Default 256. */
  readonly maxIdLength: number;
  /** The name of a caller, and of whom its tasks belong to, in characters; a longer one is refused as PERMISSION_DENIED. Default 1,024. */
  readonly maxOwnerLength: number;
  /** Parts of one message of a client. Default 1,000. */
  readonly maxParts: number;
  /** Parts of one event (status message, artifact or piece of one, reply) of an agent; more come in further events. Default 10,000. */
  readonly maxEventParts: number;
  /** Members and elements of JSON in such an event, and its extensions. Default 50,000. */
  readonly maxEventValues: number;
  /** Tasks one message may reference. Default 100. */
  readonly maxReferences: number;
  /** Extensions one request may ask for. Default 32. */
  readonly maxExtensions: number;
  /** Cards whose signatures are kept, one for each content: extended cards may differ from caller to caller. Default 256. */
  readonly maxSignedCards: number;
  /** Push notification configurations of one task that is not over, or has notifications to deliver. Default 16. */
  readonly maxPushConfigsPerTask: number;
  /** The same of all tasks of one owner; of all tenants together where callers may name any. Default 10,000. */
  readonly maxPushConfigsPerOwner: number;
  /** Characters of the URL of a push notification configuration. Default 2,048. */
  readonly maxPushUrlLength: number;
  /** Characters of its token, and of its credentials. Default 4,096. */
  readonly maxPushSecretLength: number;
  /** Push notification configurations that are delivered to at once. Default 256. */
  readonly maxDeliveries: number;
  /** The same of one host (scheme, name and port of the URL). Default 16. */
  readonly maxDeliveriesPerHost: number;
  /** Notifications that one host gets in a second, on average; a tenth of them may come at once. Default 100. */
  readonly maxDeliveriesPerHostPerSecond: number;
  /** How long a receiver may take for one notification, from the look-up of its name to the end of its answer, in milliseconds. Default 15 seconds. */
  readonly pushTimeoutMs: number;
  /** The part of that in which there has to be a connection, in milliseconds: look-up, TCP and TLS. Default 5 seconds. */
  readonly pushConnectTimeoutMs: number;
  /** How long the look-up of the name of a receiver's host may take, in milliseconds. Default 4 seconds. */
  readonly pushLookupTimeoutMs: number;
  /** A connection to a receiver that nothing is sent on is closed after so long, in milliseconds. Default 4 seconds, which is less than most servers wait. */
  readonly pushIdleMs: number;
  /**
   * A connection to a receiver is used for no new notification after so long, in milliseconds: the name of its host is looked up,
   * and judged, anew. Default 300 seconds.
   */
  readonly maxPushConnectionMs: number;
  /** What is read of a receiver's answer, in bytes; of one that has more the connection is closed. Default 64 KiB. */
  readonly maxPushAnswerBytes: number;
  /**
   * After the first failure a notification is tried again within this time, in milliseconds, and after each further one within
   * twice as long; the moment in it is drawn by lot. Default 1 second.
   */
  readonly pushRetryMs: number;
  /** The longest that such a time gets, in milliseconds, also where a receiver asks for more (`Retry-After`). Default 1 hour. */
  readonly maxPushRetryMs: number;
  /**
   * A configuration whose notifications have failed for so long, in milliseconds, is given up: it becomes a dead letter. Default
   * 24 hours.
   */
  readonly maxPushAgeMs: number;
  /** Bytes of the notifications that are being sent at once, over all hosts; one that is larger goes alone. Default 64 MiB. */
  readonly maxOutgoingPushBytes: number;
  /**
   * Bytes of a task, as JSON, that is sent whole to receivers of older versions of the protocol, which get the task with each event; of a larger one
   * its artifacts are left out, and where it is too large even then its history. Default 4 MiB.
   */
  readonly maxPushedTaskBytes: number;
  /** So many failures in a row, of whatever configuration, and a host rests. Default 5. */
  readonly maxHostFailures: number;
  /** The longest rest of a host between two tries, in milliseconds; the first one is `pushRetryMs`, each is twice the one before. Default 60 seconds. */
  readonly maxHostRestMs: number;
  /** Calls in one JSON-RPC batch. Default 100. */
  readonly maxBatch: number;
  /** Bytes of the answers to one JSON-RPC batch; members beyond them are answered by an error. Default 64 MiB. */
  readonly maxBatchBytes: number;
  /**
   * Bytes, as stored, of the large tasks and events that are held for readers who have not taken them yet, over all
   * connections and bindings. What several of them read counts once. One that is larger is still served, alone.
   * Default 256 MiB.
   */
  readonly maxOutgoingBytes: number;
  /** The same for one caller: an authenticated owner, or else an address. Default 64 MiB. */
  readonly maxOutgoingBytesPerCaller: number;
  /** The same for one connection, of a client or of a proxy that is not trusted. Default 32 MiB. */
  readonly maxOutgoingBytesPerConnection: number;
  /** How long a large answer waits for room among the others before it is refused, in milliseconds. Default 10 seconds. */
  readonly outgoingWaitMs: number;
  /**
   * A reader who does not get on with what waits for it is cut off after so long, in milliseconds: with a piece of a large
   * answer, with the events of a stream that were written to it, with an answer that is complete here. A stream on
   * which nothing waits is never cut off. Default 60 seconds.
   */
  readonly stalledReaderMs: number;
  /**
   * What getting on means, in bytes: a reader has to take so many within `stalledReaderMs`, and a connection within
   * `sendTimeoutMs`, of what waits for it at the beginning of that time, or all of it. Default 32 KiB.
   */
  readonly minReaderBytes: number;
  /**
   * Largest message that is sent over gRPC, in bytes; a larger one is refused with an error that says what to do, which
   * is kinder than what a client says of it whose own limit is lower. Default 2 GiB, which is where clients end.
   */
  readonly maxGrpcAnswerBytes: number;
  /** Streams open at once, over all bindings. Default 20,000. */
  readonly maxStreams: number;
  /** Unary calls in progress at once, over all bindings. Default 20,000. */
  readonly maxCalls: number;
  /** Unary calls in progress at once, of one caller: an authenticated owner, or else an address. Default 10,000. */
  readonly maxCallsPerCaller: number;
  /** Streams open at once, of one such caller. Default 10,000. */
  readonly maxStreamsPerCaller: number;
  /** Subscriptions open at once to one task, without the streams of sends. Default 10,000. */
  readonly maxSubscriptionsPerTask: number;
  /** The same of one caller. Default 1,000. */
  readonly maxSubscriptionsPerTaskPerCaller: number;
  /**
   * Calls a second from one address (of IPv6: from one network of 64 bits), the members of a JSON-RPC batch one by one. Default 0,
   * which is no limit: what is right depends on what a call of the agent costs, and on the proxies in front.
   */
  readonly maxRequestsPerSecondPerAddress: number;
  /** The same of one caller: an authenticated owner, or else an address. Default 0, which is no limit. */
  readonly maxRequestsPerSecondPerCaller: number;
  /** How much of these rates may come at once after a pause, as time in milliseconds; at least one call. Default 1 second. */
  readonly requestBurstMs: number;
  /** Addresses, and callers, whose rates are remembered; those that were silent the longest are forgotten first. Default 100,000. */
  readonly maxRateKeys: number;
  /** Calls and streams open at once on one connection of HTTP/2, on either port. Default 256. */
  readonly maxStreamsPerConnection: number;
  /** Connections open at once, on both ports together. Default 40,000. */
  readonly maxConnections: number;
  /**
   * Connections open at once from one address (of IPv6: from one network of 64 bits). Trusted proxies may have any
   * number. Default 20,000.
   */
  readonly maxConnectionsPerAddress: number;
  /**
   * Executions that run at once, with the agents that are about to answer directly. Later ones wait in a queue: an accepted task is
   * SUBMITTED meanwhile, and a crash does not lose it. Default 10,000.
   */
  readonly maxExecutions: number;
  /**
   * The same for one owner of tasks, under all tenants together where callers may name any (`tenants` is not given); callers without
   * authentication are one under each tenant. Default 5,000.
   */
  readonly maxExecutionsPerOwner: number;
  /** Executions that wait in that queue, in which owners take turns; beyond it messages are refused unstored. Default 10,000. */
  readonly maxQueuedExecutions: number;
  /** The same for one owner, counted likewise. Default 5,000. */
  readonly maxQueuedExecutionsPerOwner: number;
  /** Bytes of the messages that wait there, as JSON; one owner may have half. A small one more of each owner may wait. Default 256 MiB. */
  readonly maxQueuedBytes: number;
  /**
   * Tasks of one owner, counted likewise, that are not over (SUBMITTED, WORKING, INPUT_REQUIRED, AUTH_REQUIRED), whether they are executed
   * or not; processes that share a store may exceed it by a little together. Default 100,000.
   */
  readonly maxOpenTasksPerOwner: number;
  /** Messages that wait for their turn on one task. Default 64. */
  readonly maxWaitingTurns: number;
  /** Events of one task that wait to be stored before the agent is slowed down. Default 256. */
  readonly maxUnstoredEvents: number;
  /** Bytes of such events, as `maxTaskBytes` counts them, before the agent is slowed down. Default 4 MiB. */
  readonly maxUnstoredBytes: number;
  /**
   * How long a task may wait for its client (INPUT_REQUIRED, AUTH_REQUIRED) with nothing that executes it, in milliseconds,
   * before it is canceled, to a tenth of that or a minute. Default 720 hours, which are 30 days.
   */
  readonly maxInterruptedMs: number;
  /** Executions of other processes, cut off there, that run here at once; later ones wait. Default 2,000. */
  readonly maxRecovered: number;
  /**
   * How long an agent may block the event loop, in milliseconds, before the process counts as gone and others that
   * share its store may take its tasks over. Default 60 seconds.
   */
  readonly maxStallMs: number;
  /** The longest a blocking call may wait, in milliseconds. Default 1 hour. */
  readonly maxBlockingMs: number;
  /** The longest a long poll may wait, in milliseconds. Default 60 seconds. */
  readonly maxPollMs: number;
  /** Between two pings of an HTTP/2 connection, in milliseconds. Default 15 seconds. */
  readonly keepAliveMs: number;
  /**
   * Between two comments on a silent SSE stream, in milliseconds. Default 4 seconds, because common clients give a
   * connection up after five seconds of silence.
   */
  readonly heartbeatMs: number;
  /** A request's headers, then its body, must be here within this time, in milliseconds. Default 60 seconds. */
  readonly requestTimeoutMs: number;
  /**
   * What is sent on a connection has to get on within this time, in milliseconds; one that takes nothing, or less than
   * `minReaderBytes`, is cut off. Default 60 seconds.
   */
  readonly sendTimeoutMs: number;
  /** What an agent gets to stop after a cancel, in milliseconds. Default 5 seconds. */
  readonly cancelGraceMs: number;
  /**
   * What an agent gets to return after the last event of its task, in milliseconds; then its `signal` fires, and its execution
   * ends without it. Default 30 seconds.
   */
  readonly agentCleanupMs: number;
  /**
   * For how long a store that only a restart helps may be out of order, in milliseconds, before the server gives up
   * (`failure`; `parley serve` ends with code 75). Default 30 seconds.
   */
  readonly storeRecoveryMs: number;
  /** One credential (token, key, name with password), in characters; a longer one is refused unread. Default 8,192. */
  readonly maxCredentialLength: number;
  /**
   * For how long a verified token is remembered, in milliseconds, so that it need not be verified for each call; never
   * beyond its own end. A token that is revoked may be accepted for so long. Default 60 seconds.
   */
  readonly credentialMemoryMs: number;
  /** Verified tokens that are remembered, for each scheme; the oldest are forgotten first. Default 10,000. */
  readonly maxRememberedCredentials: number;
  /** One answer of an issuer (keys, metadata, introspection), in bytes. Default 256 KiB. */
  readonly maxIssuerBytes: number;
  /** How long an issuer may take for one answer, in milliseconds. Default 5 seconds. */
  readonly issuerTimeoutMs: number;
  /**
   * For so long, in milliseconds, an issuer is not asked again: for keys, after a request that failed or did not have the key that a token
   * names; by introspection, after a connection that failed, about a token that it had no answer for, and for an address with three of
   * these. One that answers to several addresses in a row with failures is tried twenty times in it. Default 10 seconds.
   */
  readonly issuerCooldownMs: number;
  /**
   * After so long an issuer's keys are fetched again, in milliseconds; they are used for at most twice as long where that
   * fails. Default 600 seconds.
   */
  readonly issuerKeysMs: number;
  /**
   * How long the JWT that signs an attempt to deliver a notification is good, in milliseconds: what clocks may be apart, and
   * what it may be on its way. Default 300 seconds.
   */
  readonly pushSignatureMs: number;
  /**
   * How long finding out a caller may take, in milliseconds, whatever authenticator or scheme it is; the call is refused as
   * UNAVAILABLE then. Longer than two answers of an issuer. Default 15 seconds.
   */
  readonly authenticationTimeoutMs: number;
  /**
   * How long `interceptors` may take, all together, before they pass a call on, and once more when it has come back, in
   * milliseconds. Default 30 seconds.
   */
  readonly interceptorTimeoutMs: number;
  /** How long an agent's `accept` may take for a message, in milliseconds; it is refused as UNAVAILABLE then. Default 30 seconds. */
  readonly acceptTimeoutMs: number;
  /** How long an agent's function may take for the extended card of a caller, in milliseconds. Default 10 seconds. */
  readonly extendedCardTimeoutMs: number;
  /**
   * How long a stream may go on after the end of the credentials that it began with, in milliseconds, where they say when they
   * end. It is closed then, as UNAUTHENTICATED; its task goes on, and its caller may subscribe to it with new ones.
   * Default 1 hour.
   */
  readonly expiredStreamGraceMs: number;
  /** Failed attempts to authenticate from one address that are checked without delay. Default 20. */
  readonly maxFailedAttempts: number;
  /** After these, one more attempt is checked each time so long, in milliseconds; others are refused. Default 1 second. */
  readonly failedAttemptMs: number;
  /** Addresses whose failed attempts are counted; the oldest are forgotten first. Default 10,000. */
  readonly maxFailedAddresses: number;
  /**
   * Credentials of one address (of IPv6: of one network of 64 bits) that are being checked at once, by an issuer or a function; a
   * token counts once, however many calls bring it. Further ones wait for their turn, 32 times as many; beyond them calls are refused.
   * Default 32.
   */
  readonly maxUnverifiedPerAddress: number;
  /** Between two looks at the TLS files, where they are named (`tls.keyFile`), in milliseconds. Default 10 seconds. */
  readonly tlsPollMs: number;
  /**
   * Records of one kind (event, reason and limit) from one address and owner that the audit log has at once in each
   * `auditWindowMs`; more are joined to one with their count. Default 10.
   */
  readonly maxAuditRecordsPerSource: number;
  /** The same in total, except for what the server does itself. Default 500. */
  readonly maxAuditRecords: number;
  /** For how long they are counted before the joined ones are written, in milliseconds. Default 10 seconds. */
  readonly auditWindowMs: number;
  /**
   * Warnings in one minute about calls that name a version of the protocol that is not spoken here, or are made as another version has
   * them; further ones are counted, and said with the next. Default 10.
   */
  readonly maxVersionWarnings: number;
  /**
   * From how many agents to the next work may be handed on (`turn.call`, `turn.delegate`), so that agents that call each other in a
   * circle come to an end. Default 8.
   */
  readonly maxDelegationDepth: number;
  /** Clients of other agents that are kept, besides those of `remoteAgents`; the oldest are closed first. Default 256. */
  readonly maxRemoteAgents: number;
  /** Calls of other agents that are under way at once, a delegation being one. Default 10,000. */
  readonly maxRemoteCalls: number;
  /** How long a call of another agent may take that has one answer, in milliseconds. Default 60 seconds. */
  readonly remoteTimeoutMs: number;
  /**
   * A stream of another agent on which no event came for so long is opened anew, in milliseconds: it may be one of those that nobody
   * sends on any more. Default 120 seconds.
   */
  readonly remoteStallMs: number;
  /** For how long an agent that cannot be reached is tried again, in milliseconds, before a delegation to it fails. Default 300 seconds. */
  readonly maxRemoteOutageMs: number;
  /** What running work and open calls get to end at shutdown, in milliseconds. Default 10 seconds. */
  readonly shutdownGraceMs: number;
  /**
   * What the store gets beyond that grace to answer and to close, in milliseconds. What it has not answered then is left
   * as it is, to be taken over at the next start, and `close` rejects. Default 5 seconds.
   */
  readonly closeTimeoutMs: number;
}

/**
 * The most that `maxTaskBytes` can be. The JSON of a task is one text, the longest text of V8 has 512 MiB, and the
 * end of a task, and an answer around it, have to fit as well.
 */
export const MAX_TASK_BYTES: number = 448 * 1024 * 1024;

/** The parts of the heap that the defaults of these limits never exceed: a quarter, an eighth and so on. */
const heapParts = {
  maxArrivingBytes: 4,
  maxOpenRequestBytes: 4,
  maxQueuedBytes: 8,
  maxPageBytes: 16,
  maxOutgoingBytes: 4,
  maxOutgoingBytesPerCaller: 8,
  maxOutgoingBytesPerConnection: 16,
  maxBatchBytes: 8,
  maxOutgoingPushBytes: 8,
} satisfies Partial<Record<keyof Limits, number>>;

/** The defaults in a process whose heap may have so many bytes. */
export function defaultLimitsOf(heapBytes: number): Limits {
  const names = Object.keys(heapParts) as (keyof typeof heapParts)[];
  const parts = names.map((name) => [name, Math.min(defaultLimits[name], Math.floor(heapBytes / heapParts[name]))]);
  return { ...defaultLimits, ...Object.fromEntries(parts) };
}

/** The stated defaults. */
export const defaultLimits: Limits = {
  maxRequestBytes: 8 * 1024 * 1024,
  maxArrivingBytes: 256 * 1024 * 1024,
  maxArrivingPerAddress: 4_096,
  maxOpenRequestBytes: 1024 * 1024 * 1024,
  maxRequestValues: 50_000,
  maxPageBytes: 16 * 1024 * 1024,
  maxTaskBytes: 256 * 1024 * 1024,
  maxArtifactBytes: 256 * 1024 * 1024,
  maxMessageBytes: 16 * 1024 * 1024,
  maxIdLength: 256,
  maxOwnerLength: 1_024,
  maxParts: 1_000,
  maxEventParts: 10_000,
  maxEventValues: 50_000,
  maxReferences: 100,
  maxExtensions: 32,
  maxSignedCards: 256,
  maxPushConfigsPerTask: 16,
  maxPushConfigsPerOwner: 10_000,
  maxPushUrlLength: 2_048,
  maxPushSecretLength: 4_096,
  maxDeliveries: 256,
  maxDeliveriesPerHost: 16,
  maxDeliveriesPerHostPerSecond: 100,
  pushTimeoutMs: 15_000,
  pushConnectTimeoutMs: 5_000,
  pushLookupTimeoutMs: 4_000,
  pushIdleMs: 4_000,
  maxPushConnectionMs: 300_000,
  maxPushAnswerBytes: 64 * 1024,
  pushRetryMs: 1_000,
  maxPushRetryMs: 3_600_000,
  maxPushAgeMs: 24 * 3_600_000,
  maxOutgoingPushBytes: 64 * 1024 * 1024,
  maxPushedTaskBytes: 4 * 1024 * 1024,
  maxHostFailures: 5,
  maxHostRestMs: 60_000,
  maxBatch: 100,
  maxBatchBytes: 64 * 1024 * 1024,
  maxOutgoingBytes: 256 * 1024 * 1024,
  maxOutgoingBytesPerCaller: 64 * 1024 * 1024,
  maxOutgoingBytesPerConnection: 32 * 1024 * 1024,
  outgoingWaitMs: 10_000,
  stalledReaderMs: 60_000,
  minReaderBytes: 32 * 1024,
  maxGrpcAnswerBytes: 2 ** 31 - 1,
  maxStreams: 20_000,
  maxCalls: 20_000,
  maxCallsPerCaller: 10_000,
  maxStreamsPerCaller: 10_000,
  maxSubscriptionsPerTask: 10_000,
  maxSubscriptionsPerTaskPerCaller: 1_000,
  maxRequestsPerSecondPerAddress: 0,
  maxRequestsPerSecondPerCaller: 0,
  requestBurstMs: 1_000,
  maxRateKeys: 100_000,
  maxStreamsPerConnection: 256,
  maxConnections: 40_000,
  maxConnectionsPerAddress: 20_000,
  maxExecutions: 10_000,
  maxExecutionsPerOwner: 5_000,
  maxQueuedExecutions: 10_000,
  maxQueuedExecutionsPerOwner: 5_000,
  maxQueuedBytes: 256 * 1024 * 1024,
  maxOpenTasksPerOwner: 100_000,
  maxWaitingTurns: 64,
  maxUnstoredEvents: 256,
  maxUnstoredBytes: 4 * 1024 * 1024,
  maxInterruptedMs: 30 * 24 * 3_600_000,
  maxRecovered: 2_000,
  maxStallMs: 60_000,
  maxBlockingMs: 3_600_000,
  maxPollMs: 60_000,
  keepAliveMs: 15_000,
  heartbeatMs: 4_000,
  requestTimeoutMs: 60_000,
  sendTimeoutMs: 60_000,
  cancelGraceMs: 5_000,
  agentCleanupMs: 30_000,
  storeRecoveryMs: 30_000,
  maxCredentialLength: 8_192,
  credentialMemoryMs: 60_000,
  maxRememberedCredentials: 10_000,
  maxIssuerBytes: 256 * 1024,
  issuerTimeoutMs: 5_000,
  issuerCooldownMs: 10_000,
  issuerKeysMs: 600_000,
  pushSignatureMs: 300_000,
  authenticationTimeoutMs: 15_000,
  interceptorTimeoutMs: 30_000,
  acceptTimeoutMs: 30_000,
  extendedCardTimeoutMs: 10_000,
  expiredStreamGraceMs: 3_600_000,
  maxFailedAttempts: 20,
  failedAttemptMs: 1_000,
  maxFailedAddresses: 10_000,
  maxUnverifiedPerAddress: 32,
  tlsPollMs: 10_000,
  maxAuditRecordsPerSource: 10,
  maxAuditRecords: 500,
  auditWindowMs: 10_000,
  maxVersionWarnings: 10,
  maxDelegationDepth: 8,
  maxRemoteAgents: 256,
  maxRemoteCalls: 10_000,
  remoteTimeoutMs: 60_000,
  remoteStallMs: 120_000,
  maxRemoteOutageMs: 300_000,
  shutdownGraceMs: 10_000,
  closeTimeoutMs: 5_000,
};
