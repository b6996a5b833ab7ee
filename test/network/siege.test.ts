import * as net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { Figures, resident } from "../support/figures.js";
import { scaled } from "../support/soak.js";
import { begun, END_HEADERS, fields, frame, greedy, HEADERS, preface, request } from "./frames.js";
import { bytesOf, envelope } from "./requests.js";
import { messageOf } from "./serve.js";

/**
 * Duration in milliseconds. `PARLEY_SIEGE_MS=200000 npx vitest run test/network/siege.test.ts` exceeds all default
 * timeouts of a server.
 */
const siegeMs = Number(process.env.PARLEY_SIEGE_MS ?? scaled(2_500, 5_000));

/** Peers of every kind. */
const each = 5;

const home = new Home();
let server: ServerProcess;
beforeAll(async () => {
  server = await home.start();
}, 120_000);
afterAll(() => home.leave());

/** Much more than the buffers between both sides hold. */
const flood = "stream 1000 16384 0";
const rpc = `/${A2AService.typeName}/SubscribeToTask`;
const resume = { "last-event-id": "1" };
const grpc = { ":path": rpc, "content-type": "application/grpc", te: "trailers", ...resume };
const half = { ":method": "POST", ":scheme": "http", ":authority": "localhost", ...grpc };
const post = (path: string, type: string, body: Buffer | string, length = Buffer.byteLength(body)): Buffer => {
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\nlast-event-id: 1\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
};
const over2 = (path: string, type: string, body: Buffer | string): Buffer =>
  Buffer.concat([
    greedy,
    request(1, { ":path": path, "content-type": type, te: "trailers", ...resume }, Buffer.from(body)),
  ]);

/** Points at which a peer stops, on every binding: before, within and after its request. No peer ever reads. */
function stages(id: string): readonly (readonly [name: string, port: "http" | "grpc", said: Buffer])[] {
  const json = JSON.stringify({ id });
  const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id } });
  const binary = envelope(bytesOf({ rpc: "SubscribeToTask", request: { id } }));
  return [
    ["silence", "http", Buffer.alloc(0)],
    ["silence", "grpc", Buffer.alloc(0)],
    ["half a preface", "http", preface.subarray(0, 9)],
    ["half a preface", "grpc", preface.subarray(0, 9)],
    ["half the headers", "http", Buffer.from("GET /tasks HTTP/1.1\r\nhost: localhost\r\nx-a:")],
    ["a preface", "http", begun],
    ["a preface", "grpc", begun],
    ["headers that go on", "http", Buffer.concat([begun, frame(HEADERS, 0, 1, fields(half))])],
    ["headers that go on", "grpc", Buffer.concat([begun, frame(HEADERS, 0, 1, fields(half))])],
    ["half a body of JSON-RPC", "http", post("/", "application/json", "{", 1_000)],
    ["half a body of HTTP+JSON", "http", post("/message:send", "application/json", "{", 1_000)],
    ["half a body of Connect", "http", post(rpc, "application/connect+json", envelope("{", 0, 1_000), 1_000)],
    ["half a body of gRPC-Web", "http", post(rpc, "application/grpc-web", binary.subarray(0, 9), 1_000)],
    ["half a call of gRPC", "http", Buffer.concat([begun, frame(HEADERS, END_HEADERS, 1, fields(half))])],
    ["half a call of gRPC", "grpc", Buffer.concat([begun, frame(HEADERS, END_HEADERS, 1, fields(half))])],
    ["JSON-RPC", "http", post("/", "application/json", call)],
    ["HTTP+JSON", "http", post(`/tasks/${id}:subscribe`, "application/json", "{}")],
    ["Connect", "http", post(rpc, "application/connect+json", envelope(json))],
    ["gRPC-Web", "http", post(rpc, "application/grpc-web", binary)],
    ["JSON-RPC over HTTP/2", "http", over2("/", "application/json", call)],
    ["HTTP+JSON over HTTP/2", "http", over2(`/tasks/${id}:subscribe`, "application/json", "{}")],
    ["Connect over HTTP/2", "http", over2(rpc, "application/connect+json", envelope(json))],
    ["gRPC on the HTTP port", "http", over2(rpc, "application/grpc", binary)],
    ["gRPC", "grpc", over2(rpc, "application/grpc", binary)],
  ];
}

describe("peers that stall at every stage, on every binding", () => {
  it("leave the server alive, and a well-behaved caller served", { timeout: siegeMs + 120_000 }, async () => {
    const ports = { http: Number(new URL(server.url).port), grpc: server.grpcPort };
    const sent = await send(flood);
    const { task } = (await sent.json()) as { task: { id: string } };
    const peers = stages(task.id).flatMap(([, port, said]) =>
      Array.from({ length: each }, () => stall(ports[port], said)),
    );
    const until = performance.now() + siegeMs;
    const figures = await Figures.begin(() => resident(server.pid));
    while (performance.now() < until) {
      await figures.during(1, async () => {
        const answer = await send("echo hello");
        expect(answer.status).toBe(200);
        await answer.arrayBuffer();
      });
      await sleep(100);
    }
    // A peer that does not read notices the end only when it writes.
    for (const peer of peers) peer.say();
    await sleep(200);
    for (const peer of peers) peer.say();
    await sleep(200);
    const cut = peers.filter((peer) => peer.isOver()).length;
    figures.print(`${peers.length} peers, ${cut} cut off in ${siegeMs} ms`);
    for (const peer of peers) peer.leave();
    expect(figures.most).toBeLessThan(1_024);
    expect(server.log).not.toMatch(/"level":50/);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });
});

function send(text: string): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(`${server.url}/message:send`, { method: "POST", headers, body: JSON.stringify(messageOf(text)) });
}

/** Sends some bytes, and then neither sends nor reads anything. */
function stall(port: number, said: Buffer): { isOver(): boolean; say(): void; leave(): void } {
  let over = false;
  const socket = net.connect(port, "127.0.0.1").pause();
  socket.on("error", () => {
    over = true;
  });
  socket.once("close", () => {
    over = true;
  });
  socket.write(said);
  return {
    isOver: () => over || socket.destroyed,
    say: () => void socket.write("\r\n"),
    leave: () => void socket.destroy(),
  };
}
