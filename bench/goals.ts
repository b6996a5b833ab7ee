/**
 * A goal of the project, as data. Every run judges all goals, and names those that it did not measure. A goal is a ratio
 * of two things that one run measures side by side, or a number with a unit.
 */
export interface Goal {
  /** The scenario that measures it. */
  readonly scenario: string;
  readonly what: string;
  /** The divisor of the measured thing, or the unit. */
  readonly against: string;
  readonly atLeast?: number;
  readonly atMost?: number;
}

const CODEC = "node:http with fromJson and toJson";
const PEER = "@a2a-js/sdk, in memory";

/** Each part of telemetry, and the share of its rate that a server with it has to keep. */
const TELEMETRY = {
  API: ["with the API of OpenTelemetry alone", 0.97],
  metrics: ["with metrics", 0.97],
  SDK: ["with metrics and the SDK of OpenTelemetry, 10 % sampled", 0.8],
} as const;

export const GOALS = {
  jsonRpcReply: {
    scenario: "http-replies",
    what: "message reply over JSON-RPC, calls/s",
    against: CODEC,
    atLeast: 0.75,
  },
  restReply: { scenario: "http-replies", what: "message reply over REST, calls/s", against: CODEC, atLeast: 0.75 },
  pipelinedReply: {
    scenario: "pipelined-replies",
    what: "message reply over JSON-RPC, 10 requests pipelined on each connection, calls/s",
    against: "not pipelined",
    atLeast: 0.9,
  },
  grpcReply: {
    scenario: "grpc-replies",
    what: "message reply over gRPC, calls/s",
    against: "bare grpc-js echo",
    atLeast: 0.8,
  },
  grpcEitherReply: {
    scenario: "grpc-replies",
    what: "message reply over gRPC of an agent that decides by its first event, calls/s",
    against: "bare grpc-js echo",
    atLeast: 0.85,
  },
  connectReply: {
    scenario: "connect-replies",
    what: "message reply over Connect, calls/s",
    against: "bare connect-node",
    atLeast: 0.9,
  },
  jwtReply: {
    scenario: "jwt-replies",
    what: "message reply over JSON-RPC to callers with a JSON Web Token, calls/s",
    against: "without",
    atLeast: 0.85,
  },
  rpcReply03: reply03("JSON-RPC"),
  restReply03: reply03("REST"),
  grpcReply03: reply03("gRPC"),
  clientGrpc: client("gRPC", "bare Connect client", 0.8),
  clientJsonRpc: client("JSON-RPC", "bare undici", 0.8),
  clientRest: client("HTTP+JSON", "bare undici", 0.8),
  clientGrpcPeer: client("gRPC", "@a2a-js/sdk's client", 2),
  clientJsonRpcPeer: client("JSON-RPC", "@a2a-js/sdk's client", 2),
  clientRestPeer: client("HTTP+JSON", "@a2a-js/sdk's client", 2),
  jsonRpcTaskSqlite: task("JSON-RPC", "SQLite FULL", 3),
  restTaskSqlite: task("REST", "SQLite FULL", 3),
  grpcTaskSqlite: task("gRPC", "SQLite FULL", 2),
  jsonRpcTaskMemory: task("JSON-RPC", "in memory", 2.5),
  restTaskMemory: task("REST", "in memory", 2.5),
  grpcTaskMemory: task("gRPC", "in memory", 1.5),
  jsonRpcServedTask: servedTask("JSON-RPC", 3.5),
  restServedTask: servedTask("REST", 3.5),
  grpcServedTask: servedTask("gRPC", 2.5),
  delegationGrowth: {
    scenario: "delegation",
    what: "an event of a sub-task of 2,000 that turn.delegate relays, SQLite FULL, CPU time of the server that asks",
    against: "of a sub-task of 200",
    atMost: 1.3,
  },
  stepCost: {
    scenario: "steps",
    what: "a task of 200 steps, in memory, CPU time of the server",
    against: "of 200 events, each stored before the next",
    atMost: 1.3,
  },
  sseStreamPeer: {
    scenario: "sse-streams",
    what: "one stream of 10,000 chunks over SSE, SQLite FULL, speed",
    against: PEER,
    atLeast: 50,
  },
  sseGrowth: growth("SSE"),
  grpcGrowth: growth("gRPC"),
  getTaskGrowth: {
    scenario: "reads",
    what: "GetTask with 100,000 tasks stored, time per call",
    against: "with 1,000",
    atMost: 1.5,
  },
  listTasksGrowth: {
    scenario: "reads",
    what: "ListTasks, page of 50, with 100,000 tasks stored, time per call",
    against: "with 1,000",
    atMost: 1.5,
  },
  conversationGrowth: {
    scenario: "conversation",
    what: "an agent's turn.conversation.messages({ limit: 20 }) in a context of 10,000 tasks, time per call",
    against: "in one of 10",
    atMost: 1.5,
  },
  foreignTask: {
    scenario: "foreign",
    what: "GetTask of a task of another owner, calls/s: timing reveals nothing",
    against: "of one that does not exist",
    atLeast: 0.95,
  },
  fanOutRate: {
    scenario: "fan-out",
    what: "1,000 subscribers and one that does not read, events/s of the others",
    against: "none stalled",
    atLeast: 0.9,
  },
  fanOutMemory: {
    scenario: "fan-out",
    what: "1,000 subscribers and one that does not read, heap and buffers that the server holds",
    against: "none stalled",
    atMost: 1.2,
  },
  stalledMemory: {
    scenario: "stalled",
    what: "a reader that is 64 MB behind, heap and buffers that the server holds for it",
    against: "what it missed",
    atMost: 0.1,
  },
  sizeLatency: {
    scenario: "size",
    what: "p99 of small reads and sends beside a task of 200 MB that is written, read slowly, and listed",
    against: "on an idle server",
    atMost: 3,
  },
  sizeStop: {
    scenario: "size",
    what: "longest stop of the event loop meanwhile that is its own: without the time that others had the processor",
    against: "absolute, in ms",
    atMost: 50,
  },
  listPage: {
    scenario: "size",
    what: "ListTasks, page of 50 small tasks over REST, time of the server's main thread",
    against: "absolute, in ms",
    atMost: 0.5,
  },
  startCard: {
    scenario: "start-up",
    what: "start of a process with a new file, to its first card",
    against: "absolute, in ms",
    atMost: 400,
  },
  restMemory: {
    scenario: "start-up",
    what: "RSS of a process with a new file, 2 s after its start",
    against: "absolute, in MB",
    atMost: 70,
  },
  restartAnswer: {
    scenario: "restart",
    what: "start of a process that finds 100,000 tasks cut off, to its first answer",
    against: "absolute, in ms",
    atMost: 2_000,
  },
  restartRate: {
    scenario: "restart",
    what: "tasks that were cut off, in order again, from the start of the process on",
    against: "absolute, per second",
    atLeast: 5_000,
  },
  finishedMemory: {
    scenario: "memory",
    what: "RSS after 100,000 finished tasks",
    against: "after 10,000",
    atMost: 1.2,
  },
  attackedRate: {
    scenario: "attacks",
    what: "message replies of a well-behaved client while the server is attacked, the worst of all attacks, calls/s",
    against: "while a sink is attacked",
    atLeast: 0.9,
  },
  pushRate: {
    scenario: "push-rate",
    what: "push notifications of tasks with four events, SQLite FULL, 50 at once to one host, per second",
    against: "a bare loop of undici",
    atLeast: 0.6,
  },
  pushDelay: {
    scenario: "push-delay",
    what: "from an event to its receiver's first byte on an idle server, SQLite FULL, median, beyond a bare POST",
    against: "absolute, in ms",
    atMost: 10,
  },
  pushDead: {
    scenario: "push-dead",
    what: "one receiver of a hundred that does not answer, notifications/s of the others",
    against: "all answer",
    atLeast: 0.95,
  },
  pushMemory: {
    scenario: "push-memory",
    what: "RSS with 100,000 undelivered notifications",
    against: "with 10,000",
    atMost: 1.1,
  },
  apiReply: telemetry("message reply over JSON-RPC", "API"),
  apiRpcTask: telemetry("task of four events over JSON-RPC", "API"),
  apiGrpcTask: telemetry("task of four events over gRPC", "API"),
  apiRpcSqlite: telemetry("durable task of four events over JSON-RPC", "API"),
  apiGrpcSqlite: telemetry("durable task of four events over gRPC", "API"),
  metricsReply: telemetry("message reply over JSON-RPC", "metrics"),
  metricsRpcTask: telemetry("task of four events over JSON-RPC", "metrics"),
  metricsGrpcTask: telemetry("task of four events over gRPC", "metrics"),
  metricsRpcSqlite: telemetry("durable task of four events over JSON-RPC", "metrics"),
  metricsGrpcSqlite: telemetry("durable task of four events over gRPC", "metrics"),
  sdkReply: {
    scenario: "telemetry",
    what: `message reply over JSON-RPC ${TELEMETRY.SDK[0]}, calls/s`,
    against: "a bare server with as many spans by the same SDK",
    atLeast: 0.75,
  },
  sdkRpcTask: telemetry("task of four events over JSON-RPC", "SDK"),
  sdkGrpcTask: telemetry("task of four events over gRPC", "SDK"),
  sdkRpcSqlite: telemetry("durable task of four events over JSON-RPC", "SDK"),
  sdkGrpcSqlite: telemetry("durable task of four events over gRPC", "SDK"),
  postgresShare: {
    scenario: "postgres-appends",
    what: "durable events in PostgreSQL by the store, 256 tasks at once, events/s per core of the database",
    against: "pgbench with the same statement",
    atLeast: 0.6,
  },
  postgresRate: {
    scenario: "postgres-appends",
    what: "durable events in PostgreSQL by the store, 256 tasks at once",
    against: "absolute, per second and core of the database",
    atLeast: 15_000,
  },
  postgresNode: {
    scenario: "postgres-appends",
    what: "a durable event in PostgreSQL by the store, 256 tasks at once, CPU time of Node.js",
    against: "absolute, in us",
    atMost: 8,
  },
  postgresTransaction: {
    scenario: "postgres-appends",
    what: "an event in PostgreSQL at the end of a transaction that is open elsewhere, CPU time of the database",
    against: "before it",
    atMost: 1.5,
  },
  postgresTasks: {
    scenario: "postgres-appends",
    what: "an event in PostgreSQL with 100,000 tasks stored, CPU time of the database",
    against: "with 256",
    atMost: 1.5,
  },
  postgresEvents: {
    scenario: "postgres-appends",
    what: "an event in PostgreSQL in tasks of 1,000 events, CPU time of the database",
    against: "in new ones",
    atMost: 1.5,
  },
  postgresReplicas: {
    scenario: "postgres-tasks",
    what: "tasks of four events over JSON-RPC by two servers on one database, calls/s",
    against: "one, where the machine has cores left",
    atLeast: 1.8,
  },
  postgresDbos: {
    scenario: "postgres-tasks",
    what: "durable tasks of four events, each over JSON-RPC, by one server, per core of the database",
    against: "workflows of two steps of DBOS",
    atLeast: 1,
  },
  postgresGraphile: {
    scenario: "postgres-tasks",
    what: "durable tasks of four events, each over JSON-RPC, by one server, per core of the database",
    against: "jobs of graphile-worker",
    atLeast: 1,
  },
  replicasMedian: replicas("median", 10),
  replicasLate: replicas("p99", 50),
  workersReplies: {
    scenario: "workers",
    what: "message replies by two workers with two cores, by CPU time",
    against: "one process with the cores that it can use",
    atLeast: 1.6,
  },
  idleMemory: { scenario: "idle", what: "RSS with 10,000 idle subscribers", against: "absolute, in MB", atMost: 250 },
} as const satisfies Readonly<Record<string, Goal>>;

export type GoalName = keyof typeof GOALS;

function task(binding: string, store: string, atLeast: number): Goal {
  const scenario = `${binding.toLowerCase().replace("-", "")}-tasks`;
  const what = `task of four events over ${binding}, ${store}, calls/s`;
  return { scenario, what, against: PEER, atLeast };
}

function servedTask(binding: string, atLeast: number): Goal {
  const what = `task of four events over ${binding} from outside: \`npm start\` and other load generators, calls/s`;
  return { scenario: "served-tasks", what, against: PEER, atLeast };
}

function reply03(binding: string): Goal {
  const what = `message reply to callers of A2A 0.3 over ${binding}, calls/s`;
  return { scenario: "version-replies", what, against: "to callers of 1.0", atLeast: 0.85 };
}

function client(binding: string, against: string, atLeast: number): Goal {
  return {
    scenario: "clients",
    what: `message reply through Parley's client over ${binding}, calls/s`,
    against,
    atLeast,
  };
}

function growth(binding: string): Goal {
  const what = `a stream's chunk at 100,000 chunks over ${binding}, SQLite FULL, time`;
  return { scenario: `${binding.toLowerCase()}-streams`, what, against: "at 1,000 chunks", atMost: 1.3 };
}

function telemetry(what: string, part: keyof typeof TELEMETRY): Goal {
  const [how, atLeast] = TELEMETRY[part];
  return { scenario: "telemetry", what: `${what} ${how}, calls/s`, against: "without", atLeast };
}

function replicas(figure: string, atMost: number): Goal {
  const what = `from an agent's event to a subscriber at another server by NOTIFY, 20 tasks, 100 events/s, ${figure}`;
  return { scenario: "fan-out-replicas", what, against: "absolute, in ms", atMost };
}

/** The result of a run for a goal. */
export interface Judged {
  readonly goal: GoalName;
  readonly value: number;
  readonly met: boolean;
  /** The comparison was cut off: the true value is this or more. */
  readonly orMore?: true;
  /** The same ratio by the CPU time of the servers, for information. */
  readonly byCpu?: number;
}

/** Judges the value as reports show it, with four digits. */
export function judge(goal: GoalName, found: number): Judged {
  const value = Number(found.toPrecision(4));
  const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }: Goal = GOALS[goal];
  return { goal, value, met: value >= atLeast && value <= atMost };
}

/** The bound of a goal as text: `>= 0.6`. */
export function boundOf({ atLeast, atMost }: Goal): string {
  return atLeast === undefined ? `<= ${atMost?.toLocaleString("en")}` : `>= ${atLeast.toLocaleString("en")}`;
}
