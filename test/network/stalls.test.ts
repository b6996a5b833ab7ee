import * as net from "node:net";
import * as tls from "node:tls";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import {
  SendMessageRequestSchema as EarlierRequestSchema,
  A2AService as EarlierService,
} from "../../gen/a2a/v1/a2a_pb.js";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { keepAlive } from "../../src/http/node/http2-sessions.js";
import { testTls } from "../server/tls.js";
import { setConstantsOfFile } from "../support/constants.js";
import { cover } from "../support/cover.js";
import { Figures } from "../support/figures.js";
import { held } from "../support/held.js";
import { frame, greedy, PRIORITY, request } from "./frames.js";
import { callBeside, http1, http2Client } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve } from "./serve.js";

setConstantsOfFile(keepAlive, { intervalMs: 100 });

vi.setConfig({ testTimeout: 60_000 });

/** Much more than the buffers between both sides hold. */
const FLOOD = "flood 1024 16384";
const rpc = `/${A2AService.typeName}/SendStreamingMessage`;
const jsonBody = Buffer.from(JSON.stringify(messageOf(FLOOD)));
const rpcBody = envelope(bytesOf({ rpc: "SendStreamingMessage", request: messageOf(FLOOD) as never }));
const batch = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: messageOf(FLOOD) });
const post = (path: string, type: string, body: Buffer | string): Buffer =>
  Buffer.concat([
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`,
    ),
    Buffer.from(body),
  ]);
const over2 = (path: string, type: string, body: Buffer | string): Buffer =>
  Buffer.concat([greedy, request(1, { ":path": path, "content-type": type, te: "trailers" }, Buffer.from(body))]);

/** Requests for a long stream, from a client that reads none of it. */
const silent: [name: string, port: "port" | "grpcPort", said: Buffer][] = [
  ["JSON-RPC over HTTP/1.1", "port", post("/", "application/json", batch)],
  ["HTTP+JSON over HTTP/1.1", "port", post("/message:stream", "application/json", jsonBody)],
  ["Connect over HTTP/1.1", "port", post(rpc, "application/connect+json", envelope(jsonBody))],
  ["gRPC-Web over HTTP/1.1", "port", post(rpc, "application/grpc-web", rpcBody)],
  ["JSON-RPC over HTTP/2", "port", over2("/", "application/json", batch)],
  ["HTTP+JSON over HTTP/2", "port", over2("/message:stream", "application/json", jsonBody)],
  ["Connect over HTTP/2", "port", over2(rpc, "application/connect+json", envelope(jsonBody))],
  ["gRPC on the HTTP port", "port", over2(rpc, "application/grpc", rpcBody)],
  ["gRPC", "grpcPort", over2(rpc, "application/grpc", rpcBody)],
];

/** The same in 0.3. */
const said03 = { messageId: "m", role: "user", kind: "message", parts: [{ kind: "text", text: FLOOD }] };
const call03 = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/stream", params: { message: said03 } });
const rest03 = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", content: [{ text: FLOOD }] } });
const rpc03 = `/${EarlierService.typeName}/SendStreamingMessage`;
const rpcBody03 = envelope(
  toBinary(
    EarlierRequestSchema,
    create(EarlierRequestSchema, {
      request: { messageId: "m", role: 1, content: [{ part: { case: "text", value: FLOOD } }] },
    }),
  ),
);
silent.push(
  ["JSON-RPC of 0.3 over HTTP/1.1", "port", post("/", "application/json", call03)],
  ["HTTP+JSON of 0.3 over HTTP/1.1", "port", post("/v1/message:stream", "application/json", rest03)],
  ["gRPC-Web of 0.3 over HTTP/1.1", "port", post(rpc03, "application/grpc-web", rpcBody03)],
  ["JSON-RPC of 0.3 over HTTP/2", "port", over2("/", "application/json", call03)],
  ["HTTP+JSON of 0.3 over HTTP/2", "port", over2("/v1/message:stream", "application/json", rest03)],
  ["gRPC of 0.3 on the HTTP port", "port", over2(rpc03, "application/grpc", rpcBody03)],
  ["gRPC of 0.3", "grpcPort", over2(rpc03, "application/grpc", rpcBody03)],
);

/** In `npm test`, each binding over each version of HTTP, and in each version of A2A. */
const asked = cover(silent, ([name]) => [name.replace(" of 0.3", ""), name.replace(/ (over|on the) HTTP.*/, "")]);

/** In `npm test`, each binding in either version of A2A. */
const askedOverTls = cover(
  silent.filter(([name]) => !name.includes("1.1")),
  ([name]) => [name.replace(" of 0.3", ""), String(name.includes(" of 0.3"))],
);

describe("a client that asks for a long stream, never reads and answers no ping", () => {
  it.each(asked)("is cut off over %s, and hurts nobody else", async (name, port, said) => {
    const limits = { requestTimeoutMs: 300, sendTimeoutMs: 500 };
    const served = await serve({ limits });
    // A client that does not read hears of its end when it writes; this means nothing, and is allowed at any time.
    const nothing = said.includes("HTTP/2") ? frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 1])) : Buffer.from("\r\n");
    const figures = await Figures.begin(held);
    const over = cutOff(net.connect(served[port], "127.0.0.1").pause(), said, nothing);
    await callBeside(figures, served.port);
    await over;
    figures.print(`a client that never reads ${name}`);
    await healthy(served);
  });

  it.each(askedOverTls)("is cut off over %s with TLS", async (_name, port, said) => {
    const served = await serve({
      limits: { requestTimeoutMs: 300, sendTimeoutMs: 500 },
      tls: testTls,
    });
    const socket = tls.connect({ port: served[port], host: "127.0.0.1", ca: testTls.cert, ALPNProtocols: ["h2"] });
    await cutOff(socket.pause(), said, frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 1])));
    expect(served.errors()).toEqual([]);
    await served.server.close();
  });
});

describe("a client that never ends its TLS handshake", () => {
  const stalls = { "sends nothing": "", "sends the beginning of a record": "\x16\x03\x01\x02" };
  const ports = ["port", "grpcPort"] as const;

  it.each(Object.entries(stalls))("is disconnected on both ports if it %s", async (_name, said) => {
    const served = await serve({ limits: { requestTimeoutMs: 300 }, tls: testTls });
    await Promise.all(
      ports.map((port) => {
        const socket = net.connect(served[port], "127.0.0.1", () => socket.write(said, "latin1")).resume();
        cleanup(() => socket.destroy());
        return new Promise((resolve) => socket.on("close", resolve));
      }),
    );
    expect(served.errors()).toEqual([]);
  });
});

/** Sends bytes, never reads, writes now and then, and waits until the other side has hung up. */
function cutOff(socket: net.Socket, said: Buffer, then: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.write(said);
    const more = setInterval(() => socket.write(then), 50);
    cleanup(() => {
      clearInterval(more);
      socket.destroy();
    });
    socket.on("error", () => resolve());
  });
}

/** Checks that the server answers on both ports, has logged no error, and closes in order. */
async function healthy(served: Served): Promise<void> {
  expect((await http1(served.port)({ method: "GET", path: "/tasks" })).status).toBe(200);
  const body = envelope(bytesOf({ rpc: "ListTasks", request: {} }));
  const headers = { "content-type": "application/grpc", te: "trailers" };
  const path = `/${A2AService.typeName}/ListTasks`;
  const answer = await http2Client(served.grpcPort)({ path, headers, body });
  expect(answer.headers["grpc-status"]).toBe("0");
  expect(served.errors()).toEqual([]);
  await served.server.close();
}
