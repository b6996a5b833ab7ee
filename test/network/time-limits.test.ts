import * as net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { keepAlive } from "../../src/http/node/http2-sessions.js";
import { setConstantsOfFile } from "../support/constants.js";
import { Figures } from "../support/figures.js";
import { held } from "../support/held.js";
import { grpc } from "./answers.js";
import { callBeside, connect, http1, http2Client } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve } from "./serve.js";

setConstantsOfFile(keepAlive, { intervalMs: 200 });

vi.setConfig({ testTimeout: 30_000 });

const requestTimeoutMs = 300;
const path = `/${A2AService.typeName}/SendMessage`;

function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const settings = frame(4, 0, 0);

/** Header fields without any compression (RFC 7541, 6.2.2). */
function fields(headers: Record<string, string>): Buffer {
  const text = (value: string): number[] => [value.length, ...Buffer.from(value)];
  return Buffer.from(Object.entries(headers).flatMap(([name, value]) => [0, ...text(name), ...text(value)]));
}

const grpcHeaders = fields({
  ":method": "POST",
  ":scheme": "http",
  ":path": path,
  ":authority": "localhost",
  "content-type": "application/grpc",
  te: "trailers",
});
const [END_STREAM, END_HEADERS] = [1, 4];
const begun = Buffer.concat([preface, settings]);
const post = (target: string, type: string): string =>
  `POST ${target} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: 100\r\n\r\n{"a":`;

/** Bytes that a client sends before it falls silent, and their port. */
const silences: [name: string, port: "port" | "grpcPort", said: Buffer | string][] = [
  ["nothing at all", "port", ""],
  ["nothing at all", "grpcPort", ""],
  ["half a request line", "port", "GET /tas"],
  ["half a preface", "port", preface.subarray(0, 9)],
  ["half a preface", "grpcPort", preface.subarray(0, 9)],
  ["half the headers of HTTP/1.1", "port", "GET /tasks HTTP/1.1\r\nhost: localhost\r\nx-a:"],
  ["a preface and no more", "port", begun],
  ["a preface and no more", "grpcPort", begun],
  ["headers that do not end", "port", Buffer.concat([begun, frame(1, 0, 1, grpcHeaders)])],
  ["headers that do not end", "grpcPort", Buffer.concat([begun, frame(1, 0, 1, grpcHeaders)])],
  ["half a body of JSON-RPC", "port", post("/", "application/json")],
  ["half a body of HTTP+JSON", "port", post("/message:send", "application/json")],
  ["half a body of Connect", "port", post(path, "application/json")],
  ["half a body of HTTP+JSON of 0.3", "port", post("/v1/message:send", "application/json")],
  ["half a body of Connect of 0.3", "port", post("/a2a.v1.A2AService/SendMessage", "application/json")],
  ["half a body of gRPC-Web of 0.3", "port", post("/a2a.v1.A2AService/SendMessage", "application/grpc-web")],
  ["half a body of gRPC-Web", "port", post(path, "application/grpc-web")],
  ["a call of gRPC without its message", "port", Buffer.concat([begun, frame(1, END_HEADERS, 1, grpcHeaders)])],
  ["a call of gRPC without its message", "grpcPort", Buffer.concat([begun, frame(1, END_HEADERS, 1, grpcHeaders)])],
];

describe("a client that falls silent", () => {
  it("is cut off, whatever it said before and on whichever port", async () => {
    // On its own port gRPC can notice a silent client only by a ping.
    const served = await serve({ limits: { requestTimeoutMs } });
    const figures = await Figures.begin(held);
    const open = new Set(silences);
    const all = silences.map(async (silence) => {
      const [, port, said] = silence;
      await closed(served[port], said);
      open.delete(silence);
    });
    await callBeside(figures, served.port);
    await Promise.race([Promise.all(all), sleep(20_000)]);
    figures.print(`${silences.length} silent clients`);
    expect([...open].map(([name, port]) => `${name} on the ${port}`)).toEqual([]);
    await healthy(served);
  });

  it.each([["port"], ["grpcPort"]] as const)(
    "while its answer is made, and does not answer pings, is cut off, on the %s",
    async (port) => {
      const served = await serve({ limits: { requestTimeoutMs } });
      const message = frame(
        0,
        END_STREAM,
        1,
        envelope(bytesOf({ rpc: "SendMessage", request: messageOf("gate g") as never })),
      );
      await closed(served[port], Buffer.concat([begun, frame(1, END_HEADERS, 1, grpcHeaders), message]));
      served.gates.open("g");
      await healthy(served);
    },
  );
});

/** Sends bytes and waits until the other side has hung up. */
function closed(port: number, said: Buffer | string): Promise<void> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(said));
    cleanup(() => socket.destroy());
    socket.on("error", () => {}).resume();
    socket.once("close", () => resolve());
  });
}

describe("a body that comes byte by byte", () => {
  it("is given up over gRPC, with a status, and its stream is closed", async () => {
    const { grpcPort, server } = await serve({ limits: { requestTimeoutMs } });
    const session = connect(grpcPort);
    const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
    const stream = session
      .request(headers)
      .on("error", () => {})
      .resume();
    const body = envelope(Buffer.alloc(1_000));
    let at = 0;
    const trickle = setInterval(() => !stream.closed && stream.write(body.subarray(at, ++at)), 50);
    cleanup(() => clearInterval(trickle));
    const answer = await new Promise<object>((resolve) => stream.once("response", resolve));
    expect(answer).toMatchObject({
      "grpc-status": "4",
      "grpc-message": encodeURI(`The request did not come within ${requestTimeoutMs} ms.`),
    });
    await new Promise((resolve) => stream.once("close", resolve));
    // The connection still works.
    const next = session.request(headers).resume();
    next.end(envelope(bytesOf({ rpc: "SendMessage", request: messageOf("hi") as never })));
    const trailers = await new Promise<object>((resolve) => next.once("trailers", resolve));
    expect(trailers).toMatchObject({ "grpc-status": "0" });
    clearInterval(trickle);
    await server.close();
  });

  it("does not limit how long an answer may take", async () => {
    const served = await serve({ limits: { requestTimeoutMs } });
    const body = envelope(bytesOf({ rpc: "SendMessage", request: messageOf("gate g") as never }));
    const headers = { "content-type": "application/grpc", te: "trailers" };
    const answers = [served.grpcPort, served.port].map((port) => http2Client(port)({ path, headers, body }));
    await served.gates.reached("g");
    await sleep(2 * requestTimeoutMs);
    served.gates.open("g");
    for (const answer of answers) expect(grpc(await answer)).toBeUndefined();
  });
});

/** Checks that the server answers on both ports, has logged no error, and closes in order. */
async function healthy(served: Served): Promise<void> {
  expect((await http1(served.port)({ method: "GET", path: "/tasks" })).status).toBe(200);
  const body = envelope(bytesOf({ rpc: "ListTasks", request: {} }));
  const headers = { "content-type": "application/grpc", te: "trailers" };
  const answer = await http2Client(served.grpcPort)({ path: path.replace("SendMessage", "ListTasks"), headers, body });
  expect(grpc(answer)).toBeUndefined();
  expect(served.errors()).toEqual([]);
  await served.server.close();
}
