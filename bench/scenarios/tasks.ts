/** Tasks of four events (submitted, working, artifact, completed), each awaited by a blocking send. */
import { grpcSend, restSend, rpcSend } from "../calls.js";
import type { TestServer } from "../harness/child.js";
import { Rates } from "../harness/rates.js";
import { atLeast, type Scenario } from "../harness/scenario.js";
import type { WireCall } from "../protocol.js";
import { RESULT_TEXT } from "../servers/answers.js";

function tasks(
  binding: string,
  title: string,
  send: (server: TestServer, text: string, expect: string) => WireCall,
  goal: number,
): Scenario {
  return {
    name: `${binding}-tasks`,
    async run(bench) {
      const peer = await bench.start("peer", "task");
      const memory = await bench.start("parley", "task", "memory");
      const sqlite = await bench.start("parley", "task", bench.database());
      const lane = (name: string, server: TestServer) => ({ name, server, call: send(server, "task", RESULT_TEXT) });
      const rates = await Rates.measure(bench, [
        lane("peer, in memory", peer),
        lane("Parley, in memory", memory),
        lane("Parley, SQLite FULL", sqlite),
      ]);
      const base = "peer, in memory";
      return {
        title: `Four-event tasks over ${title}`,
        rows: [
          rates.row(base, base),
          rates.row("Parley, in memory", base),
          rates.row("Parley, SQLite FULL", base, { target: (ratio) => atLeast(ratio, goal, base) }),
        ],
      };
    },
  };
}

export const jsonRpcTasks: Scenario = tasks("jsonrpc", "JSON-RPC", rpcSend, 1.5);
export const restTasks: Scenario = tasks("rest", "REST", restSend, 1.5);
export const grpcTasks: Scenario = tasks("grpc", "gRPC", grpcSend, 1);
