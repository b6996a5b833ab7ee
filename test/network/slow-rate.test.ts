import { constants } from "node:http2";
import * as net from "node:net";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { silentLogger } from "../../src/core/log.js";
import { Connections } from "../../src/http/node/connections.js";
import { keepAlive } from "../../src/http/node/http2-sessions.js";
import { slowReader } from "../../src/http/response.js";
import { setConstants, setConstantsOfFile } from "../support/constants.js";
import { DATA, frame, HEADERS, preface, RST_STREAM, request, SETTINGS, WINDOW_UPDATE } from "./frames.js";
import { connect, http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

/** Readers have to take 4 KiB in half a second. */
setConstantsOfFile(keepAlive, { intervalMs: 60_000 });
beforeEach(() => setConstants(slowReader, { timeoutMs: 500, minBytes: 4_096 }));

const json = { "content-type": "application/json" };

async function send({ port }: Served, text: string): Promise<string> {
  const body = JSON.stringify({ ...messageOf(text), configuration: { historyLength: 0 } });
  const answer = await http1(port)({ path: "/message:send", headers: json, body });
  return (JSON.parse(answer.body.toString()) as { task: { id: string } }).task.id;
}

const path = (rpc: string): string => `/${A2AService.typeName}/${rpc}`;
const get = (id: string): Buffer => envelope(bytesOf({ rpc: "GetTask", request: { id } }));
const flood = (bytes: string): Buffer =>
  envelope(bytesOf({ rpc: "SendStreamingMessage", request: messageOf(`flood ${bytes}`) as never }));

type Ask = (id: string) => [headers: Record<string, string>, body: string | Buffer | undefined];

/** Reads of one task of some 20 KiB, small enough to be written as a whole. */
const answers: [name: string, port: "port" | "grpcPort", ask: Ask][] = [
  ["REST", "port", (id) => [{ ":method": "GET", ":path": `/tasks/${id}` }, undefined]],
  [
    "JSON-RPC",
    "port",
    (id) => [{ ":path": "/", ...json }, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id } })],
  ],
  ["Connect", "port", (id) => [{ ":path": path("GetTask"), ...json }, JSON.stringify({ id })]],
  [
    "gRPC on the HTTP port",
    "port",
    (id) => [{ ":path": path("GetTask"), "content-type": "application/grpc", te: "trailers" }, get(id)],
  ],
  [
    "gRPC",
    "grpcPort",
    (id) => [{ ":path": path("GetTask"), "content-type": "application/grpc", te: "trailers" }, get(id)],
  ],
];

/** Streams of many events of 4 KiB each. */
const streams: typeof answers = [
  ["SSE of REST", "port", () => [{ ":path": "/message:stream", ...json }, JSON.stringify(messageOf("flood 100 4096"))]],
  [
    "SSE of JSON-RPC",
    "port",
    () => [
      { ":path": "/", ...json },
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: messageOf("flood 100 4096") }),
    ],
  ],
  [
    "Connect",
    "port",
    () => [{ ":path": path("SendStreamingMessage"), "content-type": "application/connect+proto" }, flood("100 4096")],
  ],
  [
    "gRPC on the HTTP port",
    "port",
    () => [
      { ":path": path("SendStreamingMessage"), "content-type": "application/grpc", te: "trailers" },
      flood("100 4096"),
    ],
  ],
  [
    "gRPC",
    "grpcPort",
    () => [
      { ":path": path("SendStreamingMessage"), "content-type": "application/grpc", te: "trailers" },
      flood("100 4096"),
    ],
  ],
];

/** Result of an HTTP/2 stream whose client adds `step` bytes to its window every 20 ms. */
interface Dripped {
  bytes: number;
  /** Code of the frame that reset it; undefined while it is open, -1 after its own end. */
  code: number | undefined;
}

function drip(port: number, headers: Record<string, string>, body: string | Buffer | undefined, step: number): Dripped {
  const dripped: Dripped = { bytes: 0, code: undefined };
  const socket = net.connect(port, "127.0.0.1").on("error", () => {});
  const settings = Buffer.concat([
    frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])),
    // The window of the connection is as large as possible.
    frame(WINDOW_UPDATE, 0, 0, Buffer.from([0x3f, 0, 0, 0])),
  ]);
  socket.write(
    Buffer.concat([preface, settings, request(1, headers, body === undefined ? undefined : Buffer.from(body))]),
  );
  const window = Buffer.alloc(4);
  window.writeUInt32BE(step);
  const timer = setInterval(() => socket.write(frame(WINDOW_UPDATE, 0, 1, window)), 20);
  cleanup(() => {
    clearInterval(timer);
    socket.destroy();
  });
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const length = rest.readUIntBE(0, 3);
      const [type, flags, stream] = [rest[3], rest[4] ?? 0, rest.readUInt32BE(5)];
      if (stream === 1 && type === DATA) dripped.bytes += length;
      if (stream === 1 && type === RST_STREAM) dripped.code ??= rest.readUInt32BE(9);
      if (stream === 1 && (type === DATA || type === HEADERS) && (flags & 1) === 1) dripped.code ??= -1;
      rest = rest.subarray(9 + length);
    }
  });
  return dripped;
}

describe("a reader that takes a byte now and then", () => {
  it.each(answers)("of an answer that is complete is cut off, over %s", async (_name, port, ask) => {
    const served = await serve();
    const id = await send(served, "flood 5 4096");
    const dripped = drip(served[port], ...ask(id), 1);
    await until(() => dripped.code !== undefined);
    expect(dripped.code).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(dripped.bytes).toBeLessThan(4_096);
    expect(served.errors()).toEqual([]);
  });

  it.each(streams)("of a stream is cut off, over %s", async (_name, port, ask) => {
    const served = await serve();
    const dripped = drip(served[port], ...ask(""), 1);
    await until(() => dripped.code !== undefined);
    expect(dripped.code).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(dripped.bytes).toBeLessThan(4_096);
    expect(served.errors()).toEqual([]);
  });
});

describe("a reader that is slow and gets on", () => {
  it.each([...answers, ...streams])("has all of it, over %s", async (_name, port, ask) => {
    setConstants(slowReader, { timeoutMs: 1_000, minBytes: 4_096 });
    const served = await serve();
    const id = await send(served, "flood 5 4096");
    // 200 KiB a second. At this rate a stream of 400 KiB takes longer than the timeout of a stalled reader.
    const dripped = drip(served[port], ...ask(id), 4_096);
    await until(() => dripped.code !== undefined);
    // A server that is done may say that it needs nothing more of the request (RFC 9113, 8.1).
    expect([-1, constants.NGHTTP2_NO_ERROR]).toContain(dripped.code);
    expect(dripped.bytes).toBeGreaterThan(5 * 4_096);
  });
});

describe("a stream on which nothing waits", () => {
  const asks: [name: string, port: "port" | "grpcPort", headers: Record<string, string>, body: string | Buffer][] = [
    ["SSE", "port", { ":path": "/message:stream", ...json }, JSON.stringify(messageOf("gate g"))],
    ...(["application/connect+proto", "application/grpc"] as const).map(
      (type): [string, "port", Record<string, string>, Buffer] => [
        `${type} on the HTTP port`,
        "port",
        { ":path": path("SendStreamingMessage"), "content-type": type, te: "trailers" },
        envelope(bytesOf({ rpc: "SendStreamingMessage", request: messageOf("gate g") as never })),
      ],
    ),
    [
      "gRPC",
      "grpcPort",
      { ":path": path("SendStreamingMessage"), "content-type": "application/grpc", te: "trailers" },
      envelope(bytesOf({ rpc: "SendStreamingMessage", request: messageOf("gate g") as never })),
    ],
  ];

  it.each(asks)("is not cut off, however long it is silent, over %s", async (_name, port, headers, body) => {
    setConstants(slowReader, { timeoutMs: 100, minBytes: 4_096 });
    const served = await serve();
    const stream = connect(served[port]).request({ ":method": "POST", ...headers });
    let bytes = 0;
    stream
      .on("error", () => {})
      .on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
    stream.end(body);
    await until(() => bytes > 0);
    // Ten times the timeout of a stalled reader.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(stream.closed).toBe(false);
    const before = bytes;
    served.gates.open("g");
    await new Promise((resolve) => stream.once("close", resolve));
    expect([stream.rstCode, bytes > before]).toEqual([constants.NGHTTP2_NO_ERROR, true]);
  });
});

/** A socket whose system accepts so many bytes every 10 ms. A test cannot set the rate of a real one. */
function socketThat(takes: number, waiting: number): net.Socket {
  const handle = { bytesWritten: waiting, writeQueueSize: waiting };
  const socket = Object.assign(new net.Socket(), { _handle: null });
  Object.defineProperty(socket, "_handle", { get: () => handle });
  const timer = setInterval(() => {
    handle.writeQueueSize = Math.max(0, handle.writeQueueSize - takes);
  }, 10);
  socket.destroy = () => {
    clearInterval(timer);
    socket.emit("close");
    return socket;
  };
  cleanup(() => clearInterval(timer));
  return socket;
}

it("a connection whose client takes hardly anything of what waits is cut off, and no other one", async () => {
  const connections = new Connections({
    limits: { maxConnections: 10, maxConnectionsPerAddress: 10, sendTimeoutMs: 400 },
    trust: undefined,
    logger: silentLogger,
  });
  const [hardly, nothing] = [socketThat(1, 1_000_000), socketThat(0, 1_000_000)];
  const stay = [socketThat(10_000, 1e12), socketThat(0, 0), socketThat(10, 100)];
  for (const socket of [hardly, nothing, ...stay]) expect(connections.admit(socket)).toBe(true);
  let open = 5;
  for (const socket of [hardly, nothing]) socket.once("close", () => open--);
  await until(() => open === 3);
  // Several times the time after which a reader counts as slow.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(connections.size).toBe(3);
});
