import type { ClientHttp2Session } from "node:http2";
import * as net from "node:net";
import type { Readable } from "node:stream";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  TaskSubscriptionRequestSchema as EarlierRequestSchema,
  A2AService as EarlierService,
} from "../../gen/a2a/v1/a2a_pb.js";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { cover } from "../support/cover.js";
import { pairs } from "../support/covering.js";
import { Figures } from "../support/figures.js";
import { type Child, MIB, settled, start, task } from "./child.js";
import { callBeside, connect, http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, until } from "./serve.js";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

/** Asks and does not read: over HTTP/1.1. */
function deafSocket(port: number, request: string): Readable {
  const socket = net.connect(port, "127.0.0.1");
  cleanup(() => socket.destroy());
  socket.on("error", () => {});
  socket.pause();
  socket.write(request);
  return socket;
}

/** A connection that has a window, and streams on it that never take more than that. */
function deafStream(session: ClientHttp2Session, headers: Record<string, string>, body?: Buffer): Readable {
  const stream = session.request({ ":method": body === undefined ? "GET" : "POST", ...headers });
  stream.on("error", () => {});
  stream.pause();
  if (body !== undefined) stream.end(body);
  return stream;
}

/** Continues to read, with a large window. */
function hear(stream: Readable, heard: (bytes: number) => void): void {
  if ("session" in stream) (stream.session as ClientHttp2Session).settings({ initialWindowSize: MIB });
  stream.on("data", (chunk: Buffer) => heard(chunk.length)).resume();
}

const rpcPath = (rpc: string): string => `/${A2AService.typeName}/${rpc}`;
const requestOf = (rpc: string, id: string): Buffer => envelope(bytesOf({ rpc, request: { id } }));
const post = (path: string, type: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const rpcBody = (method: string, id: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { id } });
const window = { initialWindowSize: 16 };

/** Clients that ask for a task over each binding, whole or as the first frame of a stream, and do not read. */
const ways: readonly [name: string, ask: (child: Child, id: string) => Readable][] = [
  ["REST", ({ port }, id) => deafSocket(port, `GET /tasks/${id} HTTP/1.1\r\nhost: localhost\r\n\r\n`)],
  [
    "a stream of REST",
    ({ port }, id) => deafSocket(port, `GET /tasks/${id}:subscribe HTTP/1.1\r\nhost: localhost\r\n\r\n`),
  ],
  ["REST over HTTP/2", ({ port }, id) => deafStream(connect(port, window), { ":path": `/tasks/${id}` })],
  ["JSON-RPC", ({ port }, id) => deafSocket(port, post("/", "application/json", rpcBody("GetTask", id)))],
  [
    "a stream of JSON-RPC",
    ({ port }, id) => deafSocket(port, post("/", "application/json", rpcBody("SubscribeToTask", id))),
  ],
  [
    "Connect in JSON",
    ({ port }, id) => deafSocket(port, post(rpcPath("GetTask"), "application/json", JSON.stringify({ id }))),
  ],
  ...(["application/proto"] as const).map((type): (typeof ways)[number] => [
    "Connect",
    ({ port }, id) =>
      deafStream(
        connect(port, window),
        { ":path": rpcPath("GetTask"), "content-type": type },
        Buffer.from(bytesOf({ rpc: "GetTask", request: { id } })),
      ),
  ]),
  ...["application/connect+json", "application/connect+proto"].map((type): (typeof ways)[number] => [
    `a stream of ${type}`,
    ({ port }, id) => {
      const body = type.endsWith("json") ? envelope(JSON.stringify({ id })) : requestOf("SubscribeToTask", id);
      return deafStream(connect(port, window), { ":path": rpcPath("SubscribeToTask"), "content-type": type }, body);
    },
  ]),
  ...["GetTask", "SubscribeToTask"].flatMap((rpc) =>
    (["gRPC-Web", "gRPC on the HTTP port", "gRPC"] as const).map((name): (typeof ways)[number] => [
      `${rpc === "GetTask" ? "" : "a stream of "}${name}`,
      ({ port, grpcPort }, id) => {
        const type = name === "gRPC-Web" ? "application/grpc-web+proto" : "application/grpc";
        const session = connect(name === "gRPC" ? grpcPort : port, window);
        return deafStream(session, { ":path": rpcPath(rpc), "content-type": type, te: "trailers" }, requestOf(rpc, id));
      },
    ]),
  ),
];

/** The same in 0.3, whose messages of gRPC are others than those of 1.0. */
const earlier: readonly [name: string, ask: (child: Child, id: string) => Readable][] = [
  ["REST of 0.3", ({ port }, id) => deafSocket(port, `GET /v1/tasks/${id} HTTP/1.1\r\nhost: localhost\r\n\r\n`)],
  [
    "a stream of REST of 0.3",
    ({ port }, id) => deafSocket(port, `GET /v1/tasks/${id}:subscribe HTTP/1.1\r\nhost: localhost\r\n\r\n`),
  ],
  ["JSON-RPC of 0.3", ({ port }, id) => deafSocket(port, post("/", "application/json", rpcBody("tasks/get", id)))],
  [
    "a stream of JSON-RPC of 0.3",
    ({ port }, id) => deafSocket(port, post("/", "application/json", rpcBody("tasks/resubscribe", id))),
  ],
  ...["GetTask", "TaskSubscription"].flatMap((rpc) =>
    (["gRPC-Web", "gRPC on the HTTP port", "gRPC"] as const).map((name): (typeof ways)[number] => [
      `${rpc === "GetTask" ? "" : "a stream of "}${name} of 0.3`,
      ({ port, grpcPort }, id) => {
        const type = name === "gRPC-Web" ? "application/grpc-web+proto" : "application/grpc";
        const session = connect(name === "gRPC" ? grpcPort : port, window);
        const body = envelope(toBinary(EarlierRequestSchema, create(EarlierRequestSchema, { name: `tasks/${id}` })));
        const path = `/${EarlierService.typeName}/${rpc}`;
        return deafStream(session, { ":path": path, "content-type": type, te: "trailers" }, body);
      },
    ]),
  ),
];

/** In `npm test`, each binding, as a whole or a stream, of either version. */
const asked = cover([...ways, ...earlier], ([name]) => [
  name.replace(/^a stream of | of 0\.3$/g, ""),
  ...pairs(String(name.startsWith("a stream")), String(name.endsWith("0.3"))),
]);

describe("readers of a large task who never read", () => {
  let child: Child;
  let id: string;
  beforeAll(async () => {
    child = await start(512, { maxOutgoingBytesPerCaller: 2 ** 30 });
    // The client sees 24 MiB.
    id = await task(child, "pause 48 524288");
  });
  afterAll(() => child.end());

  it.each(asked)("cost the task once, over %s", async (name, ask) => {
    const figures = await Figures.begin(async () => (await child.memory()).held);
    for (let i = 0; i < 12; i++) ask(child, id);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await settled(child);
    await callBeside(figures, child.port);
    figures.print(`readers over ${name}`);
    // Unshared, the answers take at least twelve times 24 MiB. Shared, there are the task, its kept pieces and some
    // overhead.
    expect(figures.grown).toBeLessThan(24 + 16 + 40);
    expect(child.ended()).toBe(false);
  });
});

describe("readers of a large task who have read it, and wait for its next event", () => {
  let child: Child;
  let id: string;
  beforeAll(async () => {
    child = await start(512);
    id = await task(child, "pause 48 524288");
    // A first read fills the caches, so that the measurements exclude them.
    await http1(child.port)({ method: "GET", path: `/tasks/${id}` });
  });
  afterAll(() => child.end());

  const streams = cover(
    [...ways, ...earlier].filter(([name]) => name.startsWith("a stream")),
    ([name]) => [name.replace(/ of 0\.3$/, ""), String(name.endsWith("0.3"))],
  );
  it.each(streams)("cost little, over %s", async (_name, ask) => {
    const before = await settled(child);
    let bytes = 0;
    hear(ask(child, id), (more) => {
      bytes += more;
    });
    await until(() => bytes > 24 * MIB);
    await expect.poll(async () => (await child.memory()).held - before.held, { timeout: 20_000 }).toBeLessThan(8 * MIB);
  });
});
