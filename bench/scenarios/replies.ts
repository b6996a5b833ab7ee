/** Message replies: what the protocol costs beside bare servers that carry the same messages, and beside the peer. */
import { connectJsonSend, connectSend, grpcSend, grpcWebSend, restSend, rpcSend } from "../calls.js";
import { grpcSend03, restSend03, rpcSend03 } from "../calls-03.js";
import { isReply, isReply03 } from "../checks.js";
import type { TestServer } from "../harness/child.js";
import { type Lane, Rates } from "../harness/rates.js";
import type { Scenario } from "../harness/scenario.js";
import type { WireCall } from "../protocol.js";
import { REPLY_TEXT } from "../servers/answers.js";

const QUESTION = "What is the weather?";

export const CODEC = "node:http, codec";
export const GRPC = "bare grpc-js";

/** An agent that decides by its first event whether it answers with a message or a task. */
const EITHER = "Parley, gRPC, either";

type Send = (server: TestServer, text: string, expect: string) => WireCall;

/** A lane of short message replies. */
export function replyLane(name: string, server: TestServer, send: Send): Lane {
  return { name, server, call: send(server, QUESTION, REPLY_TEXT), check: isReply(REPLY_TEXT) };
}

export const httpReplies: Scenario = {
  name: "http-replies",
  async run(bench) {
    const json = await bench.start("bare-http", "json");
    const codec = await bench.start("bare-http", "codec");
    const parley = await bench.start("parley", "message");
    const peer = await bench.start("peer", "message");
    const rates = await Rates.measure(bench, [
      replyLane("node:http, JSON", json, restSend),
      replyLane(CODEC, codec, restSend),
      replyLane("Parley, JSON-RPC", parley, rpcSend),
      replyLane("Parley, REST", parley, restSend),
      replyLane("peer, JSON-RPC", peer, rpcSend),
      replyLane("peer, REST", peer, restSend),
    ]);
    return {
      title: "Message replies over HTTP/1.1",
      rows: [
        rates.row("node:http, JSON", CODEC),
        rates.row(CODEC, CODEC),
        rates.row("Parley, JSON-RPC", CODEC, { goal: "jsonRpcReply" }),
        rates.row("Parley, REST", CODEC, { goal: "restReply" }),
        rates.row("peer, JSON-RPC", CODEC),
        rates.row("peer, REST", CODEC),
      ],
    };
  },
};

/** Callers that share a connection, in `pipelinedReplies`. */
const PIPELINED = 10;

/** Requests that are sent before the answer to the one before has come, beside a connection for each caller. */
export const pipelinedReplies: Scenario = {
  name: "pipelined-replies",
  async run(bench) {
    const codec = replyLane(CODEC, await bench.start("bare-http", "codec"), restSend);
    const parley = replyLane("Parley, JSON-RPC", await bench.start("parley", "message"), rpcSend);
    const pipelined = (lane: Lane): Lane => ({ ...lane, name: `${lane.name}, pipelined`, pipelined: PIPELINED });
    const lanes = [codec, pipelined(codec), parley, pipelined(parley)];
    const rates = await Rates.measure(bench, lanes);
    const column = "not pipelined";
    return {
      title: `Message replies over HTTP/1.1, ${PIPELINED} requests pipelined on each connection`,
      rows: lanes.map(({ name }, index) => {
        const isMeasured = name === `${parley.name}, pipelined`;
        const of = lanes[index - (index % 2)]?.name ?? name;
        return rates.row(name, of, { column, ...(isMeasured && { goal: "pipelinedReply" as const }) });
      }),
    };
  },
};

export const grpcReplies: Scenario = {
  name: "grpc-replies",
  async run(bench) {
    const rates = await Rates.measureFresh(bench, async () => [
      replyLane(GRPC, await bench.start("bare-rpc"), grpcSend),
      replyLane("Parley, gRPC", await bench.start("parley", "message"), grpcSend),
      replyLane(EITHER, await bench.start("parley", "either"), grpcSend),
      replyLane("peer, gRPC", await bench.start("peer", "message"), grpcSend),
    ]);
    return {
      title: "Message replies over gRPC",
      rows: [
        rates.row(GRPC, GRPC),
        rates.row("Parley, gRPC", GRPC, { goal: "grpcReply" }),
        rates.row(EITHER, GRPC, { goal: "grpcEitherReply" }),
        rates.row("peer, gRPC", GRPC),
      ],
    };
  },
};

export const connectReplies: Scenario = {
  name: "connect-replies",
  async run(bench) {
    const bare = await bench.start("bare-rpc");
    const parley = await bench.start("parley", "message");
    const rates = await Rates.measure(bench, [
      replyLane("bare Connect", bare, connectSend),
      replyLane("Parley, Connect", parley, connectSend),
      replyLane("bare Connect, JSON", bare, connectJsonSend),
      replyLane("Parley, Connect, JSON", parley, connectJsonSend),
      replyLane("bare gRPC-Web", bare, grpcWebSend),
      replyLane("Parley, gRPC-Web", parley, grpcWebSend),
    ]);
    const column = "bare connect-node";
    return {
      title: "Message replies over Connect and gRPC-Web (HTTP/1.1; binary where nothing is said)",
      rows: [
        rates.row("bare Connect", "bare Connect", { column }),
        rates.row("Parley, Connect", "bare Connect", { column, goal: "connectReply" }),
        rates.row("bare Connect, JSON", "bare Connect, JSON", { column }),
        rates.row("Parley, Connect, JSON", "bare Connect, JSON", { column }),
        rates.row("bare gRPC-Web", "bare gRPC-Web", { column }),
        rates.row("Parley, gRPC-Web", "bare gRPC-Web", { column }),
      ],
    };
  },
};

/** Callers of A2A 0.3 beside those of 1.0, on the same ports. */
export const versionReplies: Scenario = {
  name: "version-replies",
  async run(bench) {
    const lane = async (name: string, send: Send) => replyLane(name, await bench.start("parley", "message"), send);
    const lane03 = async (name: string, send: Send) => ({ ...(await lane(name, send)), check: isReply03(REPLY_TEXT) });
    const lanes = async (): Promise<Lane[]> => [
      await lane("1.0, JSON-RPC", rpcSend),
      await lane03("0.3, JSON-RPC", rpcSend03),
      await lane("1.0, REST", restSend),
      await lane03("0.3, REST", restSend03),
      await lane("1.0, gRPC", grpcSend),
      await lane03("0.3, gRPC", grpcSend03),
    ];
    const rates = await Rates.measureFresh(bench, lanes);
    const rows = [
      ["JSON-RPC", "rpcReply03"],
      ["REST", "restReply03"],
      ["gRPC", "grpcReply03"],
    ] as const;
    const column = "1.0";
    return {
      title: "Message replies to callers of A2A 0.3, beside those of 1.0 over the same binding",
      rows: rows.flatMap(([binding, goal]) => [
        rates.row(`1.0, ${binding}`, `1.0, ${binding}`, { column }),
        rates.row(`0.3, ${binding}`, `1.0, ${binding}`, { column, goal }),
      ]),
    };
  },
};

export const jwtReplies: Scenario = {
  name: "jwt-replies",
  async run(bench) {
    const open = "Parley, JSON-RPC";
    const rates = await Rates.measureFresh(bench, async () => [
      replyLane(open, await bench.start("parley", "message"), rpcSend),
      replyLane("Parley, JSON-RPC, JWT", await bench.start("parley", "jwt"), rpcSend),
    ]);
    const column = "without";
    return {
      title: "Message replies over JSON-RPC to callers with a JSON Web Token (RS256)",
      rows: [rates.row(open, open, { column }), rates.row("Parley, JSON-RPC, JWT", open, { column, goal: "jwtReply" })],
    };
  },
};
