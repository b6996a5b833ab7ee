/** The ratios of message replies once more, by load generators that others wrote. */
import { grpcSend, restSend, rpcSend } from "../calls.js";
import { type Lane, ownGenerator, Rates } from "../harness/rates.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import { autocannon } from "../tools/autocannon.js";
import { h2load } from "../tools/h2load.js";
import { generatorOf, isInstalled, roundsOfTools, type Tool } from "../tools/tool.js";
import { wrk } from "../tools/wrk.js";
import { CODEC, GRPC, replyLane } from "./replies.js";

/** A group of lanes, by a tool and by our own generator. The first lane is what the others are compared with. */
async function compared(bench: Bench, tool: Tool, lanes: readonly Lane[]): Promise<Row[]> {
  const own = await Rates.measure(bench, lanes, ownGenerator, roundsOfTools(bench));
  // Each answer of the warm-up, which is our own, was looked at; the tool sends the same bytes.
  const theirs = await Rates.measure(bench, lanes, generatorOf(tool), roundsOfTools(bench));
  const base = lanes[0]?.name ?? "";
  return lanes.map(({ name }) => {
    const figures = {
      "calls/s": theirs.perSecond(name),
      "x bare": theirs.ratio(name, base),
      "x bare, own generator": own.ratio(name, base),
      "calls/s, own generator": own.perSecond(name),
      "answer bytes": theirs.answerBytes(name),
      "answer bytes, own generator": own.answerBytes(name),
    };
    return { name: `${tool.name}: ${name}`, figures };
  });
}

export const crossCheck: Scenario = {
  name: "cross-check",
  async run(bench) {
    const codec = await bench.start("bare-http", "codec");
    const bare = await bench.start("bare-rpc");
    const parley = await bench.start("parley", "message");
    const http = [
      replyLane(CODEC, codec, restSend),
      replyLane("Parley, JSON-RPC", parley, rpcSend),
      replyLane("Parley, REST", parley, restSend),
    ];
    const rows = await compared(bench, isInstalled("wrk") ? wrk : autocannon, http);
    if (isInstalled("h2load")) {
      const grpc = [replyLane(GRPC, bare, grpcSend), replyLane("Parley, gRPC", parley, grpcSend)];
      rows.push(...(await compared(bench, h2load, grpc)));
    } else rows.push({ name: "gRPC", figures: {}, note: "skipped: h2load is not installed" });
    return { title: "Message replies by other load generators", rows };
  },
};
