import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { createA2A } from "../../src/server/create-a2a.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { connect, http1, http2Client } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, serve, until } from "./serve.js";

const clients = [
  ["HTTP/1.1", http1],
  ["HTTP/2", http2Client],
] as const;

describe.each(clients)("what anybody may ask a server, over %s", (_name, client) => {
  it.each(["/healthz", "/readyz", "/.well-known/agent-card.json"])("tells HEAD how long %s is", async (path) => {
    const ask = client((await serve()).port);
    const whole = await ask({ method: "GET", path });
    const head = await ask({ method: "HEAD", path });
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(Number(head.headers["content-length"])).toBe(whole.body.length);
    expect(whole.headers["content-length"]).toBe(head.headers["content-length"]);
  });

  it("answers OPTIONS * with what it understands (RFC 9110, 9.3.7)", async () => {
    const ask = client((await serve()).port);
    const answer = await ask({ method: "OPTIONS", path: "*" });
    expect([answer.status, answer.body.length]).toEqual([204, 0]);
    expect(answer.headers.allow).toBe("GET, HEAD, POST, DELETE, OPTIONS");
    // Of other methods a client of HTTP/2 does not even send it.
    if (client === http1) expect((await ask({ method: "GET", path: "*" })).status).toBe(404);
  });
});

it("leaves OPTIONS * to the server that a handler is mounted in", async () => {
  const card = { name: "Probe", description: "Answers.", version: "1.0.0" };
  const agent = { card, async *execute() {} };
  const a2a = createA2A({ agent, store: memoryStore() });
  cleanup(() => a2a.close({ graceMs: 0 }));
  const server = http.createServer((request, response) =>
    a2a.handler(request, response, () => response.writeHead(418).end()),
  );
  cleanup(() => server.close().closeAllConnections());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const ask = http1((server.address() as AddressInfo).port);
  expect((await ask({ method: "OPTIONS", path: "*" })).status).toBe(418);
});

it("logs nothing for each stream that an orderly end cuts off", async () => {
  const served = await serve();
  const json = { "content-type": "application/json" };
  const rest = JSON.stringify(messageOf("gate g"));
  const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: messageOf("gate g") });
  const bytes = envelope(bytesOf({ rpc: "SendStreamingMessage", request: messageOf("gate g") as never }));
  const connectPath = `/${A2AService.typeName}/SendStreamingMessage`;
  const asks: [port: number, path: string, headers: Record<string, string>, body: string | Buffer][] = [
    [served.port, "/message:stream", json, rest],
    [served.port, "/", json, rpc],
    [served.port, connectPath, { "content-type": "application/connect+proto" }, bytes],
    [served.grpcPort, connectPath, { "content-type": "application/grpc", te: "trailers" }, bytes],
  ];
  let begun = 0;
  let ended = 0;
  for (const [port, path, headers, body] of asks) {
    const stream = connect(port).request({ ":method": "POST", ":path": path, ...headers });
    stream.on("error", () => {}).once("data", () => begun++);
    stream.resume().once("close", () => ended++);
    stream.end(body);
  }
  await until(() => begun === asks.length);
  await served.server.close({ graceMs: 0 });
  await until(() => ended === asks.length);
  const spoken = served.lines.filter(({ level }) => level !== "debug").map(({ message }) => message);
  expect(spoken.filter((message) => /call|refused|stream/i.test(message))).toEqual([]);
});
