/** Message replies: what the protocol costs beside bare servers that carry the same bytes, and beside the peer. */
import { connectSend, grpcSend, grpcWebSend, restSend, rpcSend } from "../calls.js";
import { Rates } from "../harness/rates.js";
import { atLeast, type Scenario } from "../harness/scenario.js";
import { REPLY_TEXT } from "../servers/answers.js";

const QUESTION = "What is the weather?";

export const httpReplies: Scenario = {
  name: "http-replies",
  async run(bench) {
    const json = await bench.start("bare-http", "json");
    const codec = await bench.start("bare-http", "codec");
    const parley = await bench.start("parley", "message");
    const peer = await bench.start("peer", "message");
    const rates = await Rates.measure(bench, [
      { name: "node:http, JSON", server: json, call: restSend(json, QUESTION, REPLY_TEXT) },
      { name: "node:http, codec", server: codec, call: restSend(codec, QUESTION, REPLY_TEXT) },
      { name: "Parley, JSON-RPC", server: parley, call: rpcSend(parley, QUESTION, REPLY_TEXT) },
      { name: "Parley, REST", server: parley, call: restSend(parley, QUESTION, REPLY_TEXT) },
      { name: "peer, JSON-RPC", server: peer, call: rpcSend(peer, QUESTION, REPLY_TEXT) },
      { name: "peer, REST", server: peer, call: restSend(peer, QUESTION, REPLY_TEXT) },
    ]);
    const base = "node:http, codec";
    const target = (ratio: number) => atLeast(ratio, 0.6, base);
    return {
      title: "Message replies over HTTP/1.1",
      rows: [
        rates.row("node:http, JSON", base),
        rates.row(base, base),
        rates.row("Parley, JSON-RPC", base, { target }),
        rates.row("Parley, REST", base, { target }),
        rates.row("peer, JSON-RPC", base),
        rates.row("peer, REST", base),
      ],
    };
  },
};

export const grpcReplies: Scenario = {
  name: "grpc-replies",
  async run(bench) {
    const bare = await bench.start("bare-rpc");
    const parley = await bench.start("parley", "message");
    const peer = await bench.start("peer", "message");
    const rates = await Rates.measure(bench, [
      { name: "bare grpc-js", server: bare, call: grpcSend(bare, QUESTION, REPLY_TEXT) },
      { name: "Parley, gRPC", server: parley, call: grpcSend(parley, QUESTION, REPLY_TEXT) },
      { name: "peer, gRPC", server: peer, call: grpcSend(peer, QUESTION, REPLY_TEXT) },
    ]);
    const base = "bare grpc-js";
    return {
      title: "Message replies over gRPC",
      rows: [
        rates.row(base, base),
        rates.row("Parley, gRPC", base, { target: (ratio) => atLeast(ratio, 0.8, base) }),
        rates.row("peer, gRPC", base),
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
      { name: "bare Connect", server: bare, call: connectSend(bare, QUESTION, REPLY_TEXT) },
      { name: "Parley, Connect", server: parley, call: connectSend(parley, QUESTION, REPLY_TEXT) },
      { name: "bare gRPC-Web", server: bare, call: grpcWebSend(bare, QUESTION, REPLY_TEXT) },
      { name: "Parley, gRPC-Web", server: parley, call: grpcWebSend(parley, QUESTION, REPLY_TEXT) },
    ]);
    const column = "bare connect-node";
    return {
      title: "Message replies over Connect and gRPC-Web (HTTP/1.1, binary)",
      rows: [
        rates.row("bare Connect", "bare Connect", { column }),
        rates.row("Parley, Connect", "bare Connect", { column }),
        rates.row("bare gRPC-Web", "bare gRPC-Web", { column }),
        rates.row("Parley, gRPC-Web", "bare gRPC-Web", { column }),
      ],
    };
  },
};
