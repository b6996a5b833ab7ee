import type { ClientHttp2Stream } from "node:http2";
import * as net from "node:net";
import { expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { connect } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

/** Number of requests whose last bytes arrive together. */
const REQUESTS = 12;

const path = `/${A2AService.typeName}/SendMessage`;
const large = messageOf("x".repeat(200 * 1024));
const binary = envelope(bytesOf({ rpc: "SendMessage", request: large as never }));
const json = JSON.stringify(large);
const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: large });

/** Sends a request but for its last byte, and returns what sends that. */
type Begin = (served: Served) => () => void;

function over1(path: string, type: string, text: string | Uint8Array): Begin {
  return ({ port }) => {
    const socket = net.connect(port, "127.0.0.1").on("error", () => {});
    cleanup(() => socket.destroy());
    const body = Buffer.from(text);
    const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`;
    socket.write(Buffer.concat([Buffer.from(head), body.subarray(0, -1)]));
    return () => void socket.write(body.subarray(-1));
  };
}

function overGrpc(port: "port" | "grpcPort"): Begin {
  return (served) => {
    const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
    const stream: ClientHttp2Stream = connect(served[port]).request(headers);
    stream.on("error", () => {}).resume();
    stream.write(binary.subarray(0, -1));
    return () => void stream.end(binary.subarray(-1));
  };
}

it.each<[string, Begin]>([
  ["JSON-RPC", over1("/", "application/json", rpc)],
  ["HTTP+JSON", over1("/message:send", "application/json", json)],
  ["Connect", over1(path, "application/json", json)],
  ["gRPC-Web", over1(path, "application/grpc-web+proto", binary)],
  ["gRPC on the HTTP port", overGrpc("port")],
  ["gRPC", overGrpc("grpcPort")],
])("large requests that arrive together are each read in a round of the event loop: %s", async (_name, begin) => {
  const rounds: number[] = [];
  const served = await serve({
    interceptors: [
      (next) => (invocation) => {
        rounds.push(round);
        return next(invocation);
      },
    ],
  });
  const ends = Array.from({ length: REQUESTS }, () => begin(served));
  await new Promise((resolve) => setTimeout(resolve, 500));
  let round = 0;
  let counting = setImmediate(function count() {
    round++;
    counting = setImmediate(count);
  });
  cleanup(() => clearImmediate(counting));
  for (const end of ends) end();
  await until(() => rounds.length === REQUESTS);
  expect(new Set(rounds).size).toBe(REQUESTS);
});
