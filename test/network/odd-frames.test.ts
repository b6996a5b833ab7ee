import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { keepAlive } from "../../src/http/node/http2-sessions.js";
import { createServer, type Logger, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { setConstantsOfFile } from "../support/constants.js";
import {
  begun,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  fields,
  frame,
  HEADERS,
  PING,
  PRIORITY,
  RST_STREAM,
  request,
  SETTINGS,
  WINDOW_UPDATE,
} from "./frames.js";
import { http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";

setConstantsOfFile(keepAlive, { intervalMs: 500 });

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Calls whose frames break the rules of HTTP/2 or gRPC, and how many messages the agent gets of each. */

const message = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "done" }] } };
const body = envelope(bytesOf({ rpc: "SendMessage", request: message as never }));
const base = {
  ":method": "POST",
  ":scheme": "http",
  ":authority": "localhost",
  ":path": `/${A2AService.typeName}/SendMessage`,
};
const grpc = { ...base, "content-type": "application/grpc", te: "trailers" };
const PUSH_PROMISE = 5;
const GOAWAY = 7;
const PADDED = 8;
const MAX_WINDOW = Buffer.from([0x7f, 0xff, 0xff, 0xff]);

const headed = (...all: Record<string, string>[]): Buffer =>
  frame(HEADERS, END_HEADERS, 1, Buffer.concat(all.map(fields)));
const data = (bytes: Uint8Array = body, flags = END_STREAM, stream = 1): Buffer => frame(DATA, flags, stream, bytes);
const trailers = (flags: number, more: Record<string, string> = {}): Buffer =>
  frame(HEADERS, END_HEADERS | flags, 1, fields({ "x-trailer": "1", ...more }));
const call = (more: Record<string, string>): Buffer => Buffer.concat([headed({ ...grpc, ...more }), data()]);
const good = request(1, grpc, body);
const setting = (id: number, value: number): Buffer => {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(id);
  bytes.writeUInt32BE(value, 2);
  return frame(SETTINGS, 0, 0, bytes);
};
const lying = (length: number, flags = 0): Buffer => {
  const bytes = Buffer.from(body);
  bytes.writeUInt8(flags);
  bytes.writeUInt32BE(length, 1);
  return bytes;
};

/** Good, and followed by what ends the connection: the call has begun by then, or not. */
const maybe = expect.toBeOneOf([0, 1]);

const odd: readonly [name: string, bytes: readonly Buffer[], messages: unknown][] = [
  ["nothing odd", [good], 1],
  ["trailers of a client", [headed(grpc), data(body, 0), trailers(END_STREAM)], 1],
  ["trailers twice", [headed(grpc), data(body, 0), trailers(END_STREAM), trailers(END_STREAM)], maybe],
  ["trailers that do not end the stream", [headed(grpc), data(body, 0), trailers(0), data(Buffer.alloc(0))], 0],
  ["a path in trailers", [headed(grpc), data(body, 0), trailers(END_STREAM, { ":path": "/x" })], 0],
  ["data behind the end", [good, data()], maybe],
  ["headers behind the end", [good, headed(grpc)], maybe],
  ["data of a stream that was never begun", [data(body, END_STREAM, 7)], 0],
  ["a stream of the server's", [request(2, grpc, body)], 0],
  ["a stream of connection control", [request(0, grpc, body)], 0],
  ["an older stream begun late", [request(3, grpc, body), good], 1],
  ["a content length that is too short", [call({ "content-length": "3" })], 0],
  ["a content length that is too long", [call({ "content-length": "1000" })], 0],
  ["a content length below zero", [call({ "content-length": "-1" })], 0],
  ["a content length of no number", [call({ "content-length": "x" })], 0],
  ["two content lengths", [headed(grpc, { "content-length": `${body.length}` }, { "content-length": "3" }), data()], 0],
  ["a name in capitals", [call({ "X-Upper": "1" })], 0],
  // nghttp2 drops such fields and accepts the others.
  ["a name with a space", [call({ "x y": "1" })], 1],
  ["a value with a line", [call({ "x-line": "a\r\nx-b: c" })], 1],
  ["a value with a null", [call({ "x-null": "a\0b" })], 1],
  ["Connection", [call({ connection: "close" })], 0],
  ["Transfer-Encoding", [call({ "transfer-encoding": "chunked" })], 0],
  ["no path", [headed({ ":method": "POST", ":scheme": "http", te: "trailers" }), data()], 0],
  ["two paths", [headed(base, { ":path": "/x" }, { "content-type": "application/grpc" }), data()], 0],
  ["a path behind other names", [headed({ te: "trailers" }, grpc), data()], 0],
  ["a pseudo-header that nobody knows", [headed({ ...base, ":x": "1" }, grpc), data()], 0],
  ["a status", [headed({ ":status": "200" }, grpc), data()], 0],
  ["padding longer than its frame", [headed(grpc), frame(DATA, END_STREAM | PADDED, 1, Buffer.of(200, 1))], 0],
  ["a frame that is too large", [headed(grpc), data(Buffer.concat([body, Buffer.alloc(17_000)]))], 0],
  ["a window of nothing more", [frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(4)), good], 0],
  ["a window beyond all", [frame(WINDOW_UPDATE, 0, 0, MAX_WINDOW), frame(WINDOW_UPDATE, 0, 0, MAX_WINDOW), good], 0],
  ["settings of a wrong length", [frame(SETTINGS, 0, 0, Buffer.alloc(5)), good], 0],
  ["settings of a stream", [frame(SETTINGS, 0, 1), good], 0],
  ["settings with a window beyond all", [setting(4, 0xffff_ffff), good], 0],
  ["settings with tiny frames", [setting(5, 1), good], 0],
  ["settings with a push of 2", [setting(2, 2), good], 0],
  ["a ping of a wrong length", [frame(PING, 0, 0, Buffer.alloc(3)), good], 0],
  ["a push", [good, frame(PUSH_PROMISE, END_HEADERS, 1, Buffer.from([0, 0, 0, 2, ...fields(base)]))], maybe],
  ["a reset of a stream that was never begun", [frame(RST_STREAM, 0, 9, Buffer.alloc(4)), good], 0],
  ["a continuation of nothing", [frame(CONTINUATION, END_HEADERS, 1, fields(grpc)), good], 0],
  [
    "another frame inside the headers",
    [frame(HEADERS, 0, 1, fields(grpc)), frame(PING, 0, 0, Buffer.alloc(8)), good],
    0,
  ],
  ["a stream that depends on itself", [frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 1, 0])), good], maybe],
  ["a frame that nobody knows", [frame(0xbb, 0xff, 1, Buffer.alloc(100)), good], 1],
  ["GOAWAY first", [frame(GOAWAY, 0, 0, Buffer.alloc(8)), good], 0],
  ["a message longer than it says", [headed(grpc), data(lying(body.length - 6))], 0],
  ["a message shorter than it says", [headed(grpc), data(lying(body.length))], 0],
  ["a message of 4 GiB", [headed(grpc), data(lying(0xffff_ffff))], 0],
  ["a compressed message without an encoding", [headed(grpc), data(lying(body.length - 5, 1))], 0],
  ["flags that nobody knows", [headed(grpc), data(lying(body.length - 5, 0x80))], 0],
  ["two messages", [headed(grpc), data(Buffer.concat([body, body]))], 0],
  ["half a head", [headed(grpc), data(body.subarray(0, 3))], 0],
  ["no message", [headed(grpc), data(Buffer.alloc(0))], 0],
];

const errors: string[] = [];
const nothing = (): void => {};
const logger: Logger = { debug: nothing, info: nothing, warn: nothing, error: (_, text) => void errors.push(text) };
let server: Server;
beforeAll(async () => {
  const limits = { shutdownGraceMs: 0, requestTimeoutMs: 500 };
  server = await createServer({ agent: obedient("odd"), store: memoryStore(), port: 0, grpcPort: 0, logger, limits });
});
afterAll(() => server.close());

const tasks = async (): Promise<number> => {
  const { body: text } = await http1(server.port)({ method: "GET", path: "/tasks" });
  return (JSON.parse(text.toString()) as { totalSize: number }).totalSize;
};

const ends = Buffer.from("the end!");

/** Sends bytes and then a ping. Resolves when the server has answered the ping or hung up. */
async function say(port: number, bytes: readonly Buffer[]): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", nothing);
  socket.write(Buffer.concat([begun, ...bytes, frame(PING, 0, 0, ends)]));
  const closed = once(socket, "close");
  let seen = Buffer.alloc(0);
  const answered = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      seen = Buffer.concat([seen, chunk]);
      if (seen.includes(ends)) resolve();
    });
  });
  await Promise.race([closed, answered]);
  // The server answers calls on valid streams before the client closes the connection.
  socket.end();
  await closed;
}

describe.each(["port", "grpcPort"] as const)("a call on the %s with", (port) => {
  it.each(odd)("%s hurts nobody else", async (_name, bytes, messages) => {
    const before = await tasks();
    await say(server[port] ?? 0, bytes);
    expect([(await tasks()) - before, errors]).toEqual([messages, []]);
  });
});
