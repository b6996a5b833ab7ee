import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Logger } from "../../src/core/log.js";
import { createA2A, createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";

/** Access log of requests that are refused before they become a call. */

const lines: Record<string, unknown>[] = [];
const note = (facts: object, message: string): void => {
  if (message === "call") lines.push({ ...facts });
};
const logger: Logger = { debug: note, info: note, warn: note, error: note };
const json = { "content-type": "application/json" };
const options = { agent: obedient("logged"), logger, limits: { maxRequestBytes: 2_000 } };
const service = "/lf.a2a.v1.A2AService";

let server: Server;
beforeAll(async () => {
  server = await createServer({
    ...options,
    store: memoryStore(),
    port: 0,
    grpcPort: 0,
    accessLog: true,
    trustProxy: "loopback",
  });
});
afterAll(() => server.close({ graceMs: 0 }));
beforeEach(() => void lines.splice(0));

const post = (path: string, body: string, headers: Record<string, string> = json): Promise<Response> =>
  fetch(`${server.url}${path}`, { method: "POST", headers, body });

/** The one line there is, without what differs each time. */
async function line(): Promise<Record<string, unknown>> {
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  const [{ ms, peer, requestId, ...facts } = {}, ...others] = lines;
  expect(others).toEqual([]);
  expect(requestId).toMatch(/./);
  expect([typeof ms, peer]).toEqual(["number", "127.0.0.1"]);
  return facts;
}

const refused: [what: string, send: () => Promise<Response>, line: object][] = [
  [
    "a body of HTTP+JSON that is no JSON",
    () => post("/message:send", "{"),
    { method: "SendMessage", binding: "rest", code: "INVALID_PARAMS", status: 400, path: "/message:send" },
  ],
  [
    "a stream's body that is no JSON",
    () => post("/message:stream", "{"),
    { method: "SendStreamingMessage", binding: "rest", code: "INVALID_PARAMS", status: 400, path: "/message:stream" },
  ],
  [
    "a body that is too large",
    () => post("/message:send", `"${"x".repeat(3_000)}"`),
    { method: "SendMessage", binding: "rest", code: "REQUEST_TOO_LARGE", status: 413, path: "/message:send" },
  ],
  [
    "a body of another media type",
    () => post("/message:send", "x", { "content-type": "text/plain" }),
    { method: "SendMessage", binding: "rest", code: "MEDIA_TYPE_NOT_SUPPORTED", status: 415, path: "/message:send" },
  ],
  [
    "a route that is not there",
    () => fetch(`${server.url}/nowhere/at/all`),
    { method: "-", binding: "rest", code: "METHOD_NOT_FOUND", status: 404, path: "/nowhere/at/all" },
  ],
  [
    "a verb that a path has not",
    () => fetch(`${server.url}/tasks`, { method: "PUT" }),
    { method: "-", binding: "rest", code: "METHOD_NOT_ALLOWED", status: 405, path: "/tasks" },
  ],
  [
    "JSON-RPC that is no JSON",
    () => post("/", "{"),
    { method: "-", binding: "jsonrpc", code: "PARSE_ERROR", status: 200, path: "/" },
  ],
  [
    "a method of JSON-RPC that is not there",
    () => post("/", '{"jsonrpc":"2.0","id":1,"method":"Nothing"}'),
    { method: "-", binding: "jsonrpc", code: "METHOD_NOT_FOUND", status: 200, path: "/" },
  ],
  [
    "what is no request of JSON-RPC",
    () => post("/", "{}"),
    { method: "-", binding: "jsonrpc", code: "INVALID_REQUEST", status: 200, path: "/" },
  ],
  [
    "parameters of JSON-RPC that are none",
    () => post("/", '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}'),
    { method: "GetTask", binding: "jsonrpc", code: "INVALID_PARAMS", status: 200, path: "/" },
  ],
  [
    "parameters of a stream over JSON-RPC that are none",
    () => post("/", '{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":7}}'),
    { method: "SubscribeToTask", binding: "jsonrpc", code: "INVALID_PARAMS", status: 200, path: "/" },
  ],
  [
    "a batch that is too long",
    () => post("/", JSON.stringify(Array(101).fill(1))),
    { method: "-", binding: "jsonrpc", code: "INVALID_REQUEST", status: 200, path: "/" },
  ],
  [
    "JSON of Connect that is none",
    () => post(`${service}/GetTask`, "{"),
    { method: "GetTask", binding: "connect", code: "INVALID_PARAMS", status: 400, path: `${service}/GetTask` },
  ],
  [
    "a verb that Connect has not",
    () => fetch(`${server.url}${service}/SendMessage`),
    {
      method: "SendMessage",
      binding: "connect",
      code: "METHOD_NOT_ALLOWED",
      status: 405,
      path: `${service}/SendMessage`,
    },
  ],
  [
    "a media type that Connect has not",
    () => post(`${service}/GetTask`, "x", { "content-type": "text/plain" }),
    {
      method: "GetTask",
      binding: "connect",
      code: "MEDIA_TYPE_NOT_SUPPORTED",
      status: 415,
      path: `${service}/GetTask`,
    },
  ],
  [
    "a call of gRPC-Web to a method that is not there",
    () => post(`${service}/Nothing`, "", { "content-type": "application/grpc-web+proto" }),
    { method: "-", binding: "connect", code: "METHOD_NOT_FOUND", status: 200, path: `${service}/Nothing` },
  ],
  [
    "a stream of Connect with a request that is none",
    () => post(`${service}/SubscribeToTask`, "xxxxxxx", { "content-type": "application/connect+json" }),
    {
      method: "SubscribeToTask",
      binding: "connect",
      code: "INVALID_ARGUMENT",
      status: 200,
      path: `${service}/SubscribeToTask`,
    },
  ],
  [
    "a call of gRPC-Web with a request that is none",
    () => post(`${service}/GetTask`, "xxxxxxx", { "content-type": "application/grpc-web+proto" }),
    { method: "GetTask", binding: "connect", code: "INVALID_ARGUMENT", status: 200, path: `${service}/GetTask` },
  ],
  [
    "a call of Connect with a deadline and a request that is none",
    () => post(`${service}/GetTask`, "{", { ...json, "connect-timeout-ms": "5000" }),
    { method: "GetTask", binding: "connect", code: "INVALID_ARGUMENT", status: 400, path: `${service}/GetTask` },
  ],
];

describe("a request that is refused before it is a call", () => {
  it.each(refused)("has a line: %s", async (_what, send, expected) => {
    await (await send()).text();
    expect(await line()).toEqual(expected);
  });

  it("has a line where its host is refused", async () => {
    const sent = httpRequest({ port: server.port, path: "/tasks", headers: { host: "evil.example" } }).end();
    const [response] = (await once(sent, "response")) as [NodeJS.ReadableStream];
    await once(response.resume(), "end");
    const code = { code: "HOST_NOT_ALLOWED", status: 421 };
    expect(await line()).toMatchObject({ method: "-", binding: "rest", status: code.status, path: "/tasks" });
  });

  it("has a line for each of a batch, beside those of its calls", async () => {
    const task = { jsonrpc: "2.0", id: 2, method: "GetTask", params: { id: "nope" } };
    await (await post("/", JSON.stringify([1, task, { ...task, id: 3, method: "Nothing" }]))).text();
    const codes = lines.map(({ method, code }) => `${method} ${code}`);
    expect(codes.toSorted()).toEqual(["- INVALID_REQUEST", "- METHOD_NOT_FOUND", "GetTask TASK_NOT_FOUND"]);
  });

  it("has a line for each of a batch that is refused when the first of it has left", async () => {
    const get = { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "nope" } };
    const batch = [
      { ...get, id: "x".repeat(140_000) },
      { ...get, method: "SendMessage", params: 7 },
      { ...get, id: 2 },
    ];
    const large = await createServer({
      ...options,
      limits: {},
      store: memoryStore(),
      port: 0,
      grpcPort: false,
      accessLog: true,
    });
    const sent = { method: "POST", headers: json, body: JSON.stringify(batch) };
    expect((await (await fetch(large.url, sent)).text()).length).toBeGreaterThan(140_000);
    const codes = lines.map(({ method, code }) => `${method} ${code}`);
    expect(codes.toSorted()).toEqual([
      "GetTask TASK_NOT_FOUND",
      "GetTask TASK_NOT_FOUND",
      "SendMessage INVALID_PARAMS",
    ]);
    await large.close({ graceMs: 0 });
  });

  it.each([
    ["that is none", "NONSENSE\r\n\r\n", { code: "HPE_INVALID_METHOD", status: 400 }],
    [
      "with too many headers",
      `GET / HTTP/1.1\r\nx: ${"y".repeat(40_000)}\r\n\r\n`,
      { code: "HPE_HEADER_OVERFLOW", status: 431 },
    ],
  ])("has a line where Node.js refuses it: a request %s", async (_what, bytes, expected) => {
    const socket = connect(server.port, "127.0.0.1");
    let answer = "";
    socket.setEncoding("latin1").on("data", (text: string) => (answer += text));
    socket.on("error", () => {});
    socket.write(bytes);
    await once(socket, "close");
    expect(answer).toContain(`HTTP/1.1 ${expected.status} `);
    await expect.poll(() => lines).toEqual([{ method: "-", binding: "http", peer: "127.0.0.1", ...expected }]);
  });

  it("names the client of a trusted proxy", async () => {
    await fetch(`${server.url}/nowhere`, { headers: { "x-forwarded-for": "192.0.2.7" } });
    await expect.poll(() => lines.map(({ peer }) => peer)).toEqual(["192.0.2.7"]);
  });

  it("has a line with createA2A and the Fetch API, too", async () => {
    const a2a = createA2A({ ...options, store: memoryStore(), accessLog: true });
    await a2a.fetch(new Request("http://localhost/nowhere"));
    expect(lines).toMatchObject([{ method: "-", binding: "rest", code: "METHOD_NOT_FOUND", path: "/nowhere" }]);
    await a2a.close();
  });
});

describe("a call of gRPC that is refused before it is a call", () => {
  const call = (
    method: string,
    bytes: string,
    headers: Record<string, string> = {},
    port = server.grpcPort,
  ): Promise<unknown> =>
    new Promise((resolve) => {
      const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
      const pass = (value: Buffer): Buffer => value;
      const metadata = new Metadata();
      for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
      client.makeUnaryRequest(`${service}/${method}`, pass, pass, Buffer.from(bytes), metadata, (error) => {
        client.close();
        resolve(error);
      });
    });

  it.each([
    ["to a method that is not there", () => call("Nothing", ""), { method: "-", code: "UNIMPLEMENTED" }],
    ["with bytes that are none", () => call("GetTask", "\xff"), { method: "GetTask", code: "INVALID_PARAMS" }],
    ["that is too large", () => call("GetTask", "x".repeat(3_000)), { method: "-", code: "RESOURCE_EXHAUSTED" }],
    [
      "without time left",
      () => call("GetTask", "", { "grpc-timeout": "0S" }),
      { method: "-", code: "DEADLINE_EXCEEDED" },
    ],
  ])("has a line: %s", async (_what, send, expected) => {
    await send();
    expect(await line()).toMatchObject({ ...expected, binding: "grpc" });
  });

  it.each([
    ["with bytes that are none", "GetTask", "\xff", "INVALID_ARGUMENT"],
    ["that is too large", "GetTask", "x".repeat(3_000), "RESOURCE_EXHAUSTED"],
  ])("has a line on the HTTP port as well: %s", async (_what, method, bytes, code) => {
    await call(method, bytes, {}, server.port);
    expect(await line()).toMatchObject({ method, code, binding: "grpc" });
  });

  it("names the client of a trusted proxy", async () => {
    await call("Nothing", "", { "x-forwarded-for": "192.0.2.7" });
    await expect.poll(() => lines.map(({ peer }) => peer)).toEqual(["192.0.2.7"]);
  });
});

describe("what is no refusal", () => {
  it.each([
    ["the card", "/.well-known/agent-card.json"],
    ["health", "/healthz"],
    ["the page", "/"],
  ])("has no line: %s", async (_what, path) => {
    await (await fetch(`${server.url}${path}`, { headers: { accept: "text/html" } })).text();
    expect(lines).toEqual([]);
  });

  it("has the one line of its call, also where that fails", async () => {
    await (await fetch(`${server.url}/tasks/nope`)).text();
    await (await post("/", '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"nope"}}')).text();
    await (await post(`${service}/GetTask`, '{"id":"nope"}')).text();
    await (await post(`${service}/GetTask`, '{"id":"nope"}', { ...json, "connect-timeout-ms": "9000" })).text();
    expect(lines.map(({ binding, code }) => `${binding} ${code}`)).toEqual(
      ["rest", "jsonrpc", "connect", "connect"].map((binding) => `${binding} TASK_NOT_FOUND`),
    );
  });

  it("has no line where the access log is off", async () => {
    const a2a = createA2A({ ...options, store: memoryStore() });
    await a2a.fetch(new Request("http://localhost/nowhere"));
    expect(lines).toEqual([]);
    await a2a.close();
  });
});

describe("a line of the access log", () => {
  it("is short, however long the ids are that a client names", async () => {
    const long = "x".repeat(400);
    const get = (params: object): string => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params });
    for (const params of [{ id: long }, { id: "x", tenant: long }]) {
      lines.splice(0);
      expect(await (await post("/", get(params))).text()).toContain("is longer than 256 characters");
      const { taskId = "", tenant = "" } = await line();
      expect([(taskId as string).length, (tenant as string).length].toSorted((a, b) => a - b)[1]).toBe(257);
    }
  });
});
