/** The charts of docs/benchmarks/, generated from the results of a run. */
import type { GoalName } from "../goals.js";
import type { Results } from "../harness/results.js";
import { CODEC, GRPC } from "../scenarios/replies.js";
import { type Bar, barChart } from "./bar-chart.js";
import { boundOf, figureOf, linesOf, rowOf, sectionOf } from "./found.js";
import { lineChart } from "./line-chart.js";

const PARLEY = 0;
const PARLEY_TOO = 1;
const OTHERS = 2;

/** A ratio of a row as a bar. */
function ratio(
  results: Results,
  [scenario, row, column]: readonly [string, string, string],
  bar: Omit<Bar, "value" | "goal">,
  goal?: GoalName,
): Bar {
  const value = figureOf(rowOf(results, scenario, row), column);
  return { ...bar, value, ...(goal === undefined ? {} : { goal: boundOf(goal) }) };
}

function replies(results: Results): string {
  const http = (name: string, series: number, goal?: GoalName): Bar =>
    ratio(results, ["http-replies", name, `x ${CODEC}`], { name, series }, goal);
  const grpc = (name: string, series: number, goal?: GoalName): Bar =>
    ratio(results, ["grpc-replies", name, `x ${GRPC}`], { name, series }, goal);
  return barChart({
    title: "Message replies beside bare servers",
    unit: "calls a second, relative to the bare server of the same transport",
    base: { value: 1, name: "bare server" },
    bars: [
      http("Parley, JSON-RPC", PARLEY, "jsonRpcReply"),
      http("Parley, REST", PARLEY, "restReply"),
      grpc("Parley, gRPC", PARLEY, "grpcReply"),
      http("peer, JSON-RPC", OTHERS),
      http("peer, REST", OTHERS),
      grpc("peer, gRPC", OTHERS),
    ],
  });
}

function tasks(results: Results): string {
  const bindings: readonly (readonly [string, string, GoalName, GoalName])[] = [
    ["jsonrpc-tasks", "JSON-RPC", "jsonRpcTaskMemory", "jsonRpcTaskSqlite"],
    ["rest-tasks", "REST", "restTaskMemory", "restTaskSqlite"],
    ["grpc-tasks", "gRPC", "grpcTaskMemory", "grpcTaskSqlite"],
  ];
  const column = "x peer, in memory";
  const bars = bindings.flatMap(([scenario, binding, memory, sqlite]) => [
    ratio(
      results,
      [scenario, "Parley, in memory", column],
      { name: `${binding}, in memory`, series: PARLEY_TOO },
      memory,
    ),
    ratio(
      results,
      [scenario, "Parley, SQLite FULL", column],
      { name: `${binding}, SQLite FULL`, series: PARLEY },
      sqlite,
    ),
  ]);
  const unit = "tasks a second, relative to @a2a-js/sdk in memory over the same binding";
  return barChart({ title: "Tasks of four events beside the peer", unit, base: { value: 1, name: "peer" }, bars });
}

/** Draws the time of a call with many stored tasks, relative to its time with few. */
function stored(results: Results): string {
  const { rows } = sectionOf(results, "reads");
  const goals: Readonly<Record<string, GoalName>> = { GetTask: "getTaskGrowth", "ListTasks, 50": "listTasksGrowth" };
  const few = Math.min(...rows.map(({ at = Number.POSITIVE_INFINITY }) => at));
  const bars = rows
    .filter(({ at }) => at !== few)
    .map((row): Bar => {
      const goal = goals[row.series ?? ""];
      const value = 1 / figureOf(row, `x of ${few.toLocaleString("en")}`);
      return { name: row.name, value, series: PARLEY, ...(goal === undefined ? {} : { goal: boundOf(goal) }) };
    });
  const unit = `time per call, relative to ${few.toLocaleString("en")} tasks stored`;
  return barChart({
    title: "Calls with many tasks stored",
    unit,
    base: { value: 1, name: `with ${few.toLocaleString("en")}` },
    bars,
  });
}

const streams = (results: Results, binding: string, name: string): string =>
  lineChart({
    title: `Cost of a stream's chunk over ${name}`,
    xUnit: "chunks of the stream",
    yUnit: "microseconds per chunk",
    isLog: true,
    lines: linesOf(sectionOf(results, `${binding}-streams`), "us/chunk"),
  });

const payload = (results: Results): string =>
  lineChart({
    title: "Cost of a message reply by the size of its text",
    xUnit: "bytes of text, each way",
    yUnit: "server's CPU microseconds per call",
    isLog: true,
    lines: linesOf(sectionOf(results, "payload"), "server us CPU/call"),
  });

const subscribers = (results: Results): string =>
  lineChart({
    title: "Delivery to the subscribers of one task",
    xUnit: "subscribers",
    yUnit: "events a second, all together",
    isLog: false,
    lines: linesOf(sectionOf(results, "fan-out"), "events/s"),
  });

const memory = (results: Results): string =>
  lineChart({
    title: "Memory after finished tasks",
    xUnit: "tasks finished by one process",
    yUnit: "MB RSS, settled",
    isLog: false,
    lines: linesOf(sectionOf(results, "memory"), "MB RSS"),
  });

/** By the names of their files. */
export function charts(results: Results): Readonly<Record<string, string>> {
  return {
    "replies.svg": replies(results),
    "tasks.svg": tasks(results),
    "sse-streams.svg": streams(results, "sse", "SSE"),
    "grpc-streams.svg": streams(results, "grpc", "gRPC"),
    "payload.svg": payload(results),
    "stored.svg": stored(results),
    "subscribers.svg": subscribers(results),
    "memory.svg": memory(results),
  };
}
