import * as net from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { bearer, tokens } from "../admin/world.js";
import { describeFirst, some } from "../support/cover.js";
import { scaled } from "../support/soak.js";
import { type Child, MIB, settled, start, task } from "./child.js";
import { begun, request as onStream } from "./frames.js";
import { http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, serve } from "./serve.js";

vi.setConfig({ testTimeout: 120_000 });

/** How many requests a connection sends without reading an answer. */
const many = scaled(3_000, 30_000);
const connections = 2;

const get = (path: string, more = ""): Buffer => Buffer.from(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`);
const post = (path: string, type: string, body: Uint8Array | string): Buffer => {
  const length = Buffer.byteLength(body);
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
};
const rpc = (name: string): string => `/${A2AService.typeName}/${name}`;
const page = { pageSize: 100, includeArtifacts: true };
const list = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: page };

const inBinary = envelope(bytesOf({ rpc: "ListTasks", request: page }));
const pages = "/tasks?pageSize=100&includeArtifacts=true";
const subscribe = (id: string): string => `/tasks/${id}:subscribe`;

/** Every kind of route that answers over HTTP/1.1. */
const routes: readonly (readonly [name: string, request: (id: string) => Buffer])[] = [
  ["HTTP+JSON", () => get(pages)],
  ["JSON-RPC", () => post("/", "application/json", JSON.stringify(list))],
  ["Connect", () => post(rpc("ListTasks"), "application/json", JSON.stringify(page))],
  ["gRPC-Web", () => post(rpc("ListTasks"), "application/grpc-web+proto", inBinary)],
  ["a stream", (id) => post(subscribe(id), "application/json", "{}")],
  ["the card", () => get("/.well-known/agent-card.json")],
  ["the page", () => get("/", "accept: text/html\r\n")],
  ["health", () => get("/healthz")],
  ["nothing", () => get("/nothing")],
  ["a preflight", () => Buffer.from("OPTIONS /tasks HTTP/1.1\r\nhost: localhost\r\norigin: http://a.example\r\n\r\n")],
];

/** Those that share the way of answers with one of the others. */
const otherRoutes: typeof routes = [
  ["readiness", () => get("/readyz")],
  ["the keys", () => get("/.well-known/jwks.json")],
  [
    "JSON-RPC of 0.3",
    (id) => post("/", "application/json", JSON.stringify({ ...list, method: "tasks/get", params: { id } })),
  ],
];

const grpc = { "content-type": "application/grpc", te: "trailers" };

/** As many over HTTP/2, where a client gives no more room than each stream has in the beginning. */
const streams: readonly (readonly [name: string, headers: Record<string, string>, body?: Buffer])[] = [
  ["HTTP+JSON", { ":method": "GET", ":path": pages }],
  ["gRPC", { ":path": rpc("ListTasks"), ...grpc }, inBinary],
  ["the card", { ":method": "GET", ":path": "/.well-known/agent-card.json" }],
];

/** The other routes over HTTP/2. */
const otherStreams: typeof streams = [
  ["JSON-RPC", { ":path": "/", "content-type": "application/json" }, Buffer.from(JSON.stringify(list))],
  ["Connect", { ":path": rpc("ListTasks"), "content-type": "application/json" }, Buffer.from(JSON.stringify(page))],
  ["gRPC-Web", { ":path": rpc("ListTasks"), "content-type": "application/grpc-web+proto" }, inBinary],
  ["the page", { ":method": "GET", ":path": "/", accept: "text/html" }],
  ["health", { ":method": "GET", ":path": "/healthz" }],
  ["nothing", { ":method": "GET", ":path": "/nothing" }],
  ["a preflight", { ":method": "OPTIONS", ":path": "/tasks", origin: "http://a.example" }],
];

/** What one client sends on each of its connections, and the port for it. */
type Flood = readonly [name: string, port: "port" | "grpcPort" | "adminPort", said: (id: string) => Buffer];

const over1 = ([name, request]: (typeof routes)[number], port: Flood[1] = "port"): Flood => [
  name,
  port,
  (id) => Buffer.concat(Array.from({ length: many }, () => request(id))),
];

const over2 =
  (port: Flood[1]) =>
  ([name, headers, body]: (typeof streams)[number]): Flood => {
    const requests = () => Array.from({ length: 256 }, (_, n) => onStream(2 * n + 1, headers, body));
    return [`${name} over HTTP/2, ${port}`, port, () => Buffer.concat([begun, ...requests()])];
  };

const operator = `authorization: ${bearer(tokens.read).authorization}\r\n`;

const floods: readonly Flood[] = some(
  [...routes.map((route) => over1(route)), ...streams.map(over2("port")), ...streams.map(over2("grpcPort"))],
  [
    ...otherRoutes.map((route) => over1(route)),
    over1(["the operator's service", () => get("/v1/tasks?pageSize=100", operator)], "adminPort"),
    ...otherStreams.map(over2("port")),
  ],
);

describe("pipelined requests whose answers nobody reads", () => {
  let child: Child;
  let id: string;
  beforeAll(async () => {
    child = await start(192);
    for (let i = 0; i < 100; i++) await task(child, "flood 1 8000");
    id = await task(child, "pause 1 8000");
  });
  afterAll(() => child.end());

  it.each(floods)("neither fill the memory nor keep others waiting: %s", async (name, port, flood) => {
    const before = await child.memory();
    const said = flood(id);
    for (let i = 0; i < connections; i++) {
      const socket = net.connect(child[port], "127.0.0.1").pause();
      socket.on("error", () => {});
      socket.write(said);
      cleanup(() => socket.destroy());
    }
    const waits: number[] = [];
    const call = http1(child.port);
    for (let i = 0; i < 20; i++) {
      const from = performance.now();
      expect((await call({ method: "GET", path: "/tasks?pageSize=1" })).status).toBe(200);
      waits.push(performance.now() - from);
    }
    const after = await child.memory();
    const grown = (after.held - before.held) / MIB;
    const sorted = waits.toSorted((a, b) => a - b);
    // The figures of the suite; nothing is judged by a clock.
    process.stdout.write(
      `${name}: ${grown.toFixed(0)} MB more; calls beside it: median ${sorted[10]?.toFixed(1)}, longest ${sorted[19]?.toFixed(1)} ms\n`,
    );
    expect(grown).toBeLessThan(64);
    expect(child.ended()).toBe(false);
  });
});

it("pipelined requests of connections that close leave nothing in memory", async () => {
  const child = await start(192);
  cleanup(() => child.end());
  const said = Buffer.concat(Array.from({ length: 1_400 }, () => get("/healthz")));
  const before = await child.memory();
  for (let i = 0; i < 20; i++) {
    const socket = net.connect(child.port, "127.0.0.1").resume();
    socket.on("error", () => {}).write(said);
    await new Promise((resolve) => socket.once("close", resolve));
  }
  expect(((await settled(child)).held - before.held) / MIB).toBeLessThan(16);
});

/** Everything that a server sends until it ends or `until` is in it. */
async function read(socket: net.Socket, until: string): Promise<string> {
  let text = "";
  for await (const chunk of socket.setEncoding("latin1")) {
    text += chunk as string;
    if (text.includes(until)) break;
  }
  return text;
}

describeFirst("pipelined requests whose answers are read", () => {
  const call = (n: number): Buffer =>
    post("/", "application/json", `{"jsonrpc":"2.0","id":"<${n}>","method":"ListTasks","params":{"pageSize":1}}`);

  it("are answered in their order, each", async () => {
    const { port } = await serve();
    const socket = net.connect(port, "127.0.0.1");
    cleanup(() => socket.destroy());
    socket.write(Buffer.concat(Array.from({ length: 5_000 }, (_, n) => call(n))));
    const text = await read(socket, "<4999>");
    const answered = [...text.matchAll(/"<(\d+)>"/g)].map(([, n]) => Number(n));
    expect(answered).toEqual(Array.from({ length: 5_000 }, (_, n) => n));
  });

  it("are answered where a call before them takes long, and others go on meanwhile", async () => {
    const { port, gates } = await serve();
    const socket = net.connect(port, "127.0.0.1");
    cleanup(() => socket.destroy());
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "gate slow" }] };
    const params = JSON.stringify({ message });
    const slow = post(
      "/",
      "application/json",
      `{"jsonrpc":"2.0","id":"slow","method":"SendMessage","params":${params}}`,
    );
    socket.write(Buffer.concat([slow, ...Array.from({ length: 100 }, (_, n) => call(n))]));
    await gates.reached("slow");
    const other = await http1(port)({ method: "GET", path: "/tasks" });
    expect(other.status).toBe(200);
    gates.open("slow");
    const text = await read(socket, "<99>");
    expect(text.indexOf('"slow"')).toBeLessThan(text.indexOf("<0>"));
    expect(text.match(/"<\d+>"/g)?.length).toBe(100);
  });

  it("cost the connection where thousands of tiny ones come in one piece", async () => {
    // No other limit ends the connection meanwhile.
    const { port } = await serve({ limits: { requestTimeoutMs: 600_000 } });
    const socket = net.connect(port, "127.0.0.1").pause();
    socket.on("error", () => {});
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "gate never" }] };
    socket.write(post("/message:send", "application/json", JSON.stringify({ message })));
    socket.write(Buffer.concat(Array.from({ length: 50_000 }, () => get("/a"))));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume();
    await closed;
    expect((await http1(port)({ method: "GET", path: "/tasks" })).status).toBe(200);
  });
});
