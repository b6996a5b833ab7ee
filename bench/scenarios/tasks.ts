/** Tasks of four events (submitted, working, artifact, completed), each awaited by a blocking send. */
import { grpcSend, restSend, rpcSend } from "../calls.js";
import { isCompletedTask } from "../checks.js";
import type { GoalName } from "../goals.js";
import type { TestServer } from "../harness/child.js";
import { type Lane, Rates } from "../harness/rates.js";
import type { Scenario } from "../harness/scenario.js";
import type { WireCall } from "../protocol.js";
import { RESULT_TEXT } from "../servers/answers.js";

const PEER = "peer, in memory";

interface TasksOf {
  /** True to measure each lane in several processes, one after the other. Default: false. */
  readonly fresh?: boolean;
  readonly name: string;
  readonly title: string;
  readonly memory: GoalName;
  readonly sqlite: GoalName;
  readonly send: Send;
}

type Send = (server: TestServer, text: string, expect: string) => WireCall;

/** A lane of tasks of four events. */
export function taskLane(name: string, server: TestServer, send: Send): Lane {
  return { name, server, call: send(server, "task", RESULT_TEXT), check: isCompletedTask };
}

function tasks({ name, title, memory, sqlite, send, fresh = false }: TasksOf): Scenario {
  return {
    name,
    async run(bench) {
      const start = async (): Promise<Lane[]> => [
        taskLane(PEER, await bench.start("peer", "task"), send),
        taskLane("Parley, in memory", await bench.start("parley", "task", "memory"), send),
        taskLane("Parley, SQLite FULL", await bench.start("parley", "task", bench.database()), send),
      ];
      const rates = await (fresh ? Rates.measureFresh(bench, start) : Rates.measure(bench, await start()));
      return {
        title: `Four-event tasks over ${title}`,
        rows: [
          rates.row(PEER, PEER),
          rates.row("Parley, in memory", PEER, { goal: memory }),
          rates.row("Parley, SQLite FULL", PEER, { goal: sqlite }),
        ],
      };
    },
  };
}

export const jsonRpcTasks: Scenario = tasks({
  name: "jsonrpc-tasks",
  title: "JSON-RPC",
  memory: "jsonRpcTaskMemory",
  sqlite: "jsonRpcTaskSqlite",
  send: rpcSend,
});

export const restTasks: Scenario = tasks({
  name: "rest-tasks",
  title: "REST",
  memory: "restTaskMemory",
  sqlite: "restTaskSqlite",
  send: restSend,
});

export const grpcTasks: Scenario = tasks({
  name: "grpc-tasks",
  title: "gRPC",
  fresh: true,
  memory: "grpcTaskMemory",
  sqlite: "grpcTaskSqlite",
  send: grpcSend,
});
