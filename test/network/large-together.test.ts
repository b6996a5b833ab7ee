import type { ClientHttp2Stream } from "node:http2";
import * as net from "node:net";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { expect, it, onTestFinished, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { BinaryInput } from "../../src/wire/binary-input.js";
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

function overGrpc(port: "port" | "grpcPort", message = binary): Begin {
  return (served) => {
    const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
    const stream: ClientHttp2Stream = connect(served[port]).request(headers);
    stream.on("error", () => {}).resume();
    stream.write(message.subarray(0, -1));
    return () => void stream.end(message.subarray(-1));
  };
}

/** The round of the event loop, while they are counted. */
let round = 0;

function countRounds(): void {
  round = 0;
  let counting = setImmediate(function count() {
    round++;
    counting = setImmediate(count);
  });
  cleanup(() => clearImmediate(counting));
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
  countRounds();
  for (const end of ends) end();
  await until(() => rounds.length === REQUESTS);
  expect(new Set(rounds).size).toBe(REQUESTS);
});

/** As many values as a request may have. */
const values = messageOf("", { parts: [{ data: Array.from({ length: 49_000 }, (_, i) => `s${i}`) }] });
const valuesInBytes = Buffer.from(bytesOf({ rpc: "SendMessage", request: values as never }));
const valuesInJson = JSON.stringify(values);
const valuesInParams = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${valuesInJson}}`;

/** Calls back when the text of a request is parsed. */
function onParse(then: () => void): void {
  const parse = JSON.parse;
  vi.spyOn(JSON, "parse").mockImplementation((text: string, ...more) => {
    if (text.length > 64 * 1024) then();
    return parse(text, ...more);
  });
}

/** Calls back when the values of a request in binary are counted. */
function onCount(then: () => void): void {
  const { tag } = BinaryReader.prototype;
  vi.spyOn(BinaryReader.prototype, "tag").mockImplementation(function count(this: BinaryReader) {
    then();
    return tag.call(this);
  });
}

/** Calls back when texts of a request in binary are read. */
function onRead(then: () => void): void {
  const { text } = BinaryInput.prototype;
  vi.spyOn(BinaryInput.prototype, "text").mockImplementation(function read(this: BinaryInput) {
    then();
    return text.call(this);
  });
}

it.each<[string, Begin, on: (then: () => void) => void, turns: number]>([
  ["JSON-RPC", over1("/", "application/json", valuesInParams), onParse, 2],
  ["HTTP+JSON", over1("/message:send", "application/json", valuesInJson), onParse, 2],
  ["Connect", over1(path, "application/json", valuesInJson), onParse, 2],
  ["Connect in binary", over1(path, "application/proto", valuesInBytes), onCount, 2],
  ["gRPC-Web", over1(path, "application/grpc-web+proto", envelope(valuesInBytes)), onRead, 1],
  ["gRPC on the HTTP port", overGrpc("port", envelope(valuesInBytes)), onRead, 1],
  ["gRPC", overGrpc("grpcPort", envelope(valuesInBytes)), onRead, 1],
])("many values are parsed, copied and handled in rounds of their own: %s", async (_name, begin, on, turns) => {
  let parsed: number | undefined;
  let handled: number | undefined;
  const served = await serve({
    interceptors: [
      (next) => (invocation) => {
        handled = round;
        return next(invocation);
      },
    ],
  });
  const end = begin(served);
  await new Promise((resolve) => setTimeout(resolve, 100));
  countRounds();
  onTestFinished(() => void vi.restoreAllMocks());
  on(() => {
    parsed = round;
  });
  end();
  await until(() => handled !== undefined);
  expect(parsed).toBeDefined();
  expect(Number(handled) - Number(parsed)).toBeGreaterThanOrEqual(turns);
});
