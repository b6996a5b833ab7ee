import * as net from "node:net";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { bearer, tokens } from "../admin/world.js";
import { sessionOf } from "../console/world.js";
import { describeFirst, itFirst, some } from "../support/cover.js";
import { Figures } from "../support/figures.js";
import { type Child, MIB, settled, start, task } from "./child.js";
import { begun, request as onStream } from "./frames.js";
import { callBeside, http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 120_000 });

/**
 * Number of requests that a connection sends without reading an answer. The buffers of its sockets take the small answers
 * to the first ten thousand or so.
 */
const many = 30_000;
const connections = 2;

/**
 * Headers of every request, which the console needs. They make requests so large that a chunk has fewer of them than end a
 * connection.
 */
let headers: Readonly<Record<string, string>> = {};

const head = (start: string, more: Readonly<Record<string, string | number>>): string => {
  const lines = Object.entries({ host: "localhost", ...headers, ...more }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${start} HTTP/1.1\r\n${lines.join("")}\r\n`;
};
const get = (path: string, more = {}): Buffer => Buffer.from(head(`GET ${path}`, more));
const post = (path: string, type: string, body: Uint8Array | string): Buffer => {
  const more = { "content-type": type, "content-length": Buffer.byteLength(body) };
  return Buffer.concat([Buffer.from(head(`POST ${path}`, more)), Buffer.from(body)]);
};
const rpc = (name: string): string => `/${A2AService.typeName}/${name}`;
const page = { pageSize: 100, includeArtifacts: true };
const list = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: page };

const listText = JSON.stringify(list);
const inJson = { "content-type": "application/json" };
const inBinary = envelope(bytesOf({ rpc: "ListTasks", request: page }));
const pages = "/tasks?pageSize=100&includeArtifacts=true";
const resource = "/.well-known/oauth-protected-resource";
const operators = `/console/api/admin/${AdminService.typeName}/ListTasks`;
const subscribe = (id: string): string => `/tasks/${id}:subscribe`;

/** A request of which thousands fit into one chunk. */
const tiny = "GET /a HTTP/1.1\r\nhost: localhost\r\n\r\n";

/** Every kind of route that answers over HTTP/1.1. */
const routes: readonly (readonly [name: string, request: (id: string) => Buffer])[] = [
  ["HTTP+JSON", () => get(pages)],
  ["JSON-RPC", () => post("/", "application/json", listText)],
  ["Connect", () => post(rpc("ListTasks"), "application/json", JSON.stringify(page))],
  ["gRPC-Web", () => post(rpc("ListTasks"), "application/grpc-web+proto", inBinary)],
  ["a stream", (id) => post(subscribe(id), "application/json", "{}")],
  ["the card", () => get("/.well-known/agent-card.json")],
  ["the page", () => get("/", { accept: "text/html" })],
  ["health", () => get("/healthz")],
  ["nothing", () => get("/nothing")],
  ["a preflight", () => Buffer.from(head("OPTIONS /tasks", { origin: "http://a.example" }))],
];

/** Those that share the way of answers with one of the others. */
const otherRoutes: typeof routes = [
  ["readiness", () => get("/readyz")],
  ["the keys", () => get("/.well-known/jwks.json")],
  ["the protected resource", () => get(resource)],
  ["the console", () => get("/console/")],
  ["its files", () => get("/console/assets/app.js")],
  ["its session", () => get("/console/api/session")],
  ["its operator's service", () => post(operators, "application/json", '{"pageSize":100}')],
  ["its relay", () => post("/console/api/relay", "application/json", listText)],
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
  ["JSON-RPC", { ":path": "/", ...inJson }, Buffer.from(listText)],
  ["Connect", { ":path": rpc("ListTasks"), ...inJson }, Buffer.from(JSON.stringify(page))],
  ["gRPC-Web", { ":path": rpc("ListTasks"), "content-type": "application/grpc-web+proto" }, inBinary],
  ["the page", { ":method": "GET", ":path": "/", accept: "text/html" }],
  ["health", { ":method": "GET", ":path": "/healthz" }],
  ["the protected resource", { ":method": "GET", ":path": resource }],
  ["the console", { ":method": "GET", ":path": "/console/" }],
  ["its files", { ":method": "GET", ":path": "/console/assets/app.js" }],
  ["its session", { ":method": "GET", ":path": "/console/api/session" }],
  ["its operator's service", { ":path": operators, ...inJson }, Buffer.from('{"pageSize":100}')],
  ["its relay", { ":path": "/console/api/relay", ...inJson }, Buffer.from(listText)],
  ["nothing", { ":method": "GET", ":path": "/nothing" }],
  ["a preflight", { ":method": "OPTIONS", ":path": "/tasks", origin: "http://a.example" }],
];

/** Bytes that a client sends on each of its connections, and their port. */
type Flood = readonly [name: string, port: "port" | "grpcPort" | "adminPort", said: (id: string) => Buffer];

const over1 = ([name, request]: (typeof routes)[number], port: Flood[1] = "port"): Flood => [
  name,
  port,
  (id) => {
    const one = request(id);
    return Buffer.alloc(many * one.length, one);
  },
];

const over2 =
  (port: Flood[1]) =>
  ([name, own, body]: (typeof streams)[number]): Flood => {
    const requests = () => Array.from({ length: 256 }, (_, n) => onStream(2 * n + 1, { ...own, ...headers }, body));
    return [`${name} over HTTP/2, ${port}`, port, () => Buffer.concat([begun, ...requests()])];
  };

const floods: readonly Flood[] = some(
  [...routes.map((route) => over1(route)), ...streams.map(over2("port")), ...streams.map(over2("grpcPort"))],
  [
    ...otherRoutes.map((route) => over1(route)),
    over1(["the operator's service", () => get("/v1/tasks?pageSize=100", bearer(tokens.read))], "adminPort"),
    ...otherStreams.map(over2("port")),
  ],
);

/** Headers of a session of the console, and of a call that it relays to the server itself. */
async function consoleHeaders({ port }: Child): Promise<Record<string, string>> {
  const url = `http://127.0.0.1:${port}`;
  const { cookie, ...own } = await sessionOf(`${url}/console`, bearer(tokens.write));
  return { ...own, cookie, "parley-relay-url": `${url}/` };
}

describe("pipelined requests whose answers nobody reads", () => {
  let child: Child | undefined;
  let id: string;
  beforeEach(async () => {
    // A server that a row has ended fails no other row.
    if (child?.ended() === false) return;
    child = await start(192);
    for (let i = 0; i < 100; i++) await task(child, "flood 1 8000");
    id = await task(child, "pause 1 8000");
    headers = await consoleHeaders(child);
  });
  afterAll(() => child?.end());

  it.each(floods)("neither fill the memory nor keep others waiting: %s", async (name, port, flood) => {
    const server = child as Child;
    const memory = async (): Promise<number> => (await server.memory()).held;
    const figures = await Figures.begin(memory);
    const before = await memory();
    const said = flood(id);
    const sockets = Array.from({ length: connections }, () => {
      const socket = net.connect(server[port], "127.0.0.1").pause();
      socket.on("error", () => {});
      socket.write(said);
      cleanup(() => socket.destroy());
      return socket;
    });
    await callBeside(figures, server.port, 20);
    figures.print(name);
    // While answers still wait. Those that are being made take some more in between.
    expect(((await memory()) - before) / MIB).toBeLessThan(64);
    expect(server.ended()).toBe(false);
    // More than a refusal of all of them.
    await until(() => sockets.every((socket) => socket.resume().bytesRead > 2_000));
  });
});

itFirst("pipelined requests of connections that close leave nothing in memory", async () => {
  const child = await start(192);
  cleanup(() => child.end());
  const said = tiny.repeat(1_400);
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
    socket.write(tiny.repeat(50_000));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume();
    await closed;
    expect((await http1(port)({ method: "GET", path: "/tasks" })).status).toBe(200);
  });
});
