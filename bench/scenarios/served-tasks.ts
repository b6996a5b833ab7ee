/** Tasks of four events from outside: the server and the agent of `npm start`, with load generators that others wrote. */
import { type Called, grpcSend, restSend, rpcSend } from "../calls.js";
import { isCompletedTask } from "../checks.js";
import type { GoalName } from "../goals.js";
import { CommandLine } from "../harness/command-line.js";
import { type Lane, Rates } from "../harness/rates.js";
import { type Bench, CALLERS, type Row, type Scenario } from "../harness/scenario.js";
import type { WireCall } from "../protocol.js";
import { RESULT_TEXT } from "../servers/answers.js";
import { autocannon } from "../tools/autocannon.js";
import { h2load } from "../tools/h2load.js";
import { generatorOf, isInstalled, roundsOfTools, type Tool } from "../tools/tool.js";
import { wrk } from "../tools/wrk.js";

const MANY_CALLERS = 200;

interface Way {
  readonly binding: string;
  readonly goal: GoalName;
  readonly tool: Tool;
  send(server: Called, text: string, expect: string): WireCall;
}

/** One binding, with the usual number of callers, which the goal is about, or with many. */
async function rowsOf(bench: Bench, { binding, goal, tool, send }: Way, callers: number): Promise<Row[]> {
  const peer = `${binding}, ${callers} callers: peer, in memory`;
  const parley = `${binding}, ${callers} callers: npm start, SQLite FULL`;
  const served = await CommandLine.start(bench.database());
  try {
    const other = await bench.start("peer", "task");
    const lane = (name: string, server: Lane["server"], text: string): Lane => {
      return { name, server, call: send(server, text, RESULT_TEXT), check: isCompletedTask, callers };
    };
    const lanes = [lane(peer, other, "task"), lane(parley, served, `echo ${RESULT_TEXT}`)];
    const rates = await Rates.measure(bench, lanes, generatorOf(tool), roundsOfTools(bench));
    await other.end();
    const target = callers === CALLERS ? { goal } : {};
    return [rates.row(peer, peer, { column: "peer" }), rates.row(parley, peer, { column: "peer", ...target })];
  } finally {
    await served.end();
  }
}

export const servedTasks: Scenario = {
  name: "served-tasks",
  async run(bench) {
    const http = isInstalled("wrk") ? wrk : autocannon;
    const ways: Way[] = [
      { binding: "JSON-RPC", goal: "jsonRpcServedTask", tool: http, send: rpcSend },
      { binding: "REST", goal: "restServedTask", tool: http, send: restSend },
    ];
    if (isInstalled("h2load")) ways.push({ binding: "gRPC", goal: "grpcServedTask", tool: h2load, send: grpcSend });
    const rows: Row[] = [];
    for (const way of ways) {
      for (const callers of [CALLERS, MANY_CALLERS]) rows.push(...(await rowsOf(bench, way, callers)));
    }
    if (ways.length < 3) rows.push({ name: "gRPC", figures: {}, note: "skipped: h2load is not installed" });
    return { title: "Four-event tasks from outside, by other load generators", rows };
  },
};
