/** The cost of spans and metrics: the same server without them, and with each of them. */
import { grpcSend, restSend, rpcSend } from "../calls.js";
import type { GoalName } from "../goals.js";
import type { TestServer } from "../harness/child.js";
import { type Fresh, type Lane, Rates } from "../harness/rates.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import { replyLane } from "./replies.js";
import { taskLane } from "./tasks.js";

const OFF = "without";

/** The server's arguments of each variant. */
const VARIANTS = {
  [OFF]: [],
  "the API alone": ["telemetry"],
  metrics: ["metrics"],
  "SDK and metrics": ["telemetry", "metrics"],
} as const;
type Variant = keyof typeof VARIANTS;

/**
 * A tenth of the calls is sampled, and spans are exported every five seconds: a warm-up of two seconds compiles neither,
 * and a short round has an export or none.
 */
const FRESH: Fresh = { processes: 4, rounds: 3, warmUpMs: 6_000, roundMs: 2_500 };

interface Calls {
  readonly name: string;
  readonly agent: "message" | "task";
  /** SQLite with durability FULL, as servers have it by default. */
  readonly isDurable?: true;
  readonly lane: (name: string, server: TestServer) => Lane;
  readonly goals: Readonly<Partial<Record<Variant, GoalName>>>;
  /** Also measures a bare server, without the SDK and with as many spans: what the SDK alone costs. */
  readonly bareGoal?: GoalName;
}

const BARE = "bare node:http, without";
const BARE_SDK = "bare node:http, the SDK";

const CALLS: readonly Calls[] = [
  {
    name: "JSON-RPC reply",
    agent: "message",
    lane: (name, server) => replyLane(name, server, rpcSend),
    goals: { "the API alone": "apiReply", metrics: "metricsReply" },
    bareGoal: "sdkReply",
  },
  {
    name: "JSON-RPC task in memory",
    agent: "task",
    lane: (name, server) => taskLane(name, server, rpcSend),
    goals: { "the API alone": "apiRpcTask", metrics: "metricsRpcTask", "SDK and metrics": "sdkRpcTask" },
  },
  {
    name: "gRPC task in memory",
    agent: "task",
    lane: (name, server) => taskLane(name, server, grpcSend),
    goals: { "the API alone": "apiGrpcTask", metrics: "metricsGrpcTask", "SDK and metrics": "sdkGrpcTask" },
  },
  {
    name: "JSON-RPC task on SQLite",
    agent: "task",
    isDurable: true,
    lane: (name, server) => taskLane(name, server, rpcSend),
    goals: { "the API alone": "apiRpcSqlite", metrics: "metricsRpcSqlite", "SDK and metrics": "sdkRpcSqlite" },
  },
  {
    name: "gRPC task on SQLite",
    agent: "task",
    isDurable: true,
    lane: (name, server) => taskLane(name, server, grpcSend),
    goals: { "the API alone": "apiGrpcSqlite", metrics: "metricsGrpcSqlite", "SDK and metrics": "sdkGrpcSqlite" },
  },
];

async function measured(
  bench: Bench,
  receiver: TestServer,
  { name, agent, isDurable, lane, goals, bareGoal }: Calls,
): Promise<Row[]> {
  const variants = Object.keys(VARIANTS) as Variant[];
  const nameOf = (variant: Variant): string => `${name}, ${variant}`;
  const traced = (...args: string[]): Promise<TestServer> => bench.start("traced", String(receiver.at.http), ...args);
  const start = (variant: Variant): Promise<TestServer> => {
    const args = [agent, isDurable ? bench.database() : "memory", ...VARIANTS[variant]];
    return variant === "SDK and metrics" ? traced("parley", ...args) : bench.start("parley", ...args);
  };
  const lanes = variants.map((variant) => async () => lane(nameOf(variant), await start(variant)));
  if (bareGoal !== undefined) {
    lanes.push(async () => replyLane(BARE, await bench.start("bare-http", "codec"), restSend));
    lanes.push(async () => replyLane(BARE_SDK, await traced("bare-http", "spans"), restSend));
  }
  const rates = await Rates.measureFresh(bench, () => Promise.all(lanes.map((started) => started())), FRESH);
  const rows = variants.map((variant) => {
    const goal = goals[variant];
    return rates.row(nameOf(variant), nameOf(OFF), { column: OFF, ...(goal !== undefined && { goal }) });
  });
  if (bareGoal === undefined) return rows;
  return [
    ...rows,
    rates.row(BARE_SDK, BARE, { column: OFF }),
    rates.row(nameOf("SDK and metrics"), BARE_SDK, { column: "bare", goal: bareGoal }),
  ];
}

export const telemetry: Scenario = {
  name: "telemetry",
  async run(bench) {
    const receiver = await bench.start("receiver");
    const rows: Row[] = [];
    for (const calls of CALLS) rows.push(...(await measured(bench, receiver, calls)));
    const stats = await (await fetch(`http://127.0.0.1:${receiver.at.http}/stats`)).json();
    if ((stats as { count: number }).count === 0) throw new Error("no spans were exported");
    return { title: "Calls, by the telemetry of their server", rows };
  },
};
