import * as net from "node:net";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { connect as connectJudge, grpc, grpcWeb, type Judge, jsonRpc, rest } from "./answers.js";
import { connect, http1, http2Client, type RawRequest, type Send } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, type Served, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 30_000 });

const path = `/${A2AService.typeName}/ListTasks`;
const kilobytes = 1024;
const limits = { maxRequestBytes: 64 * kilobytes, maxArrivingBytes: 100 * kilobytes };
const part = Buffer.alloc(49 * kilobytes, " ");

/** Begins a request whose body does not end; the result gives it up. */
type Begin = (served: Served) => () => void;

function half(target: string, type: string): Begin {
  return ({ port }) => {
    const socket = net.connect(port, "127.0.0.1");
    cleanup(() => socket.destroy());
    socket.on("error", () => {});
    socket.write(`POST ${target} HTTP/1.1\r\nhost: a\r\ncontent-type: ${type}\r\ncontent-length: 60000\r\n\r\n`);
    socket.write(part);
    return () => socket.destroy();
  };
}

const halfGrpc =
  (port: "port" | "grpcPort"): Begin =>
  (served) => {
    const session = connect(served[port]);
    const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
    session
      .request(headers)
      .on("error", () => {})
      .write(envelope(part, 0, 60_000));
    return () => session.destroy();
  };

const list = Buffer.from("{}");
const message = envelope(bytesOf({ rpc: "ListTasks", request: {} }));
const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: { contextId: "x".repeat(10) } });
const room = Buffer.from(`{"contextId":"x"}${" ".repeat(3 * kilobytes)}`);
const h1 = ({ port }: Served): Send => http1(port);
const type = (name: string) => ({ "content-type": name, te: "trailers" });

/** A request that is small, and yet too much for what is left; what it is refused with. */
const wires: [
  name: string,
  begin: Begin,
  send: (served: Served) => Send,
  request: RawRequest,
  judge: Judge,
  code: unknown,
][] = [
  [
    "JSON-RPC",
    half("/", "application/json"),
    h1,
    { path: "/", headers: type("application/json"), body: call + " ".repeat(3 * kilobytes) },
    jsonRpc,
    -32000,
  ],
  [
    "HTTP+JSON",
    half("/message:send", "application/json"),
    h1,
    { path: "/tasks/none:cancel", headers: type("application/json"), body: `${" ".repeat(3 * kilobytes)}{}` },
    rest,
    429,
  ],
  [
    "Connect",
    half(path, "application/json"),
    h1,
    { path, headers: type("application/json"), body: room },
    connectJudge,
    "resource_exhausted",
  ],
  [
    "gRPC-Web",
    half(path, "application/grpc-web+json"),
    h1,
    { path, headers: type("application/grpc-web+json"), body: envelope(room) },
    grpcWeb,
    8,
  ],
  [
    "gRPC on the HTTP port",
    halfGrpc("port"),
    ({ port }) => http2Client(port),
    { path, headers: type("application/grpc+json"), body: envelope(room) },
    grpc,
    8,
  ],
  [
    "gRPC",
    halfGrpc("grpcPort"),
    ({ grpcPort }) => http2Client(grpcPort),
    {
      path: path.replace("ListTasks", "SendMessage"),
      headers: type("application/grpc"),
      body: envelope(
        bytesOf({
          rpc: "SendMessage",
          request: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x".repeat(6 * kilobytes) }] } },
        }),
      ),
      // What is here at once is not arriving any more.
      inPieces: true,
    },
    grpc,
    8,
  ],
];

describe("bytes that are still arriving", () => {
  it.each(wires)(
    "are limited over %s, together with all others [SRV-SEC-04]",
    async (name, begin, of, request, judge, code) => {
      const served = await serve({ limits });
      const send = of(served);
      // One from elsewhere, one of this binding: the count is one.
      const held = [half("/message:send", "application/json")(served), begin(served)];
      await until(async () => judge(await send(request)) === code);
      // What fits is taken all the same.
      expect((await http1(served.port)({ path, headers: type("application/json"), body: list })).status, name).toBe(
        200,
      );
      for (const giveUp of held) giveUp();
      const fits = (given: unknown): boolean => given === undefined || given === 404;
      await until(async () => fits(judge(await send(request))));
      expect(served.errors()).toEqual([]);
      await served.server.close();
    },
  );

  it("are counted no more when they are here", async () => {
    const served = await serve({ limits });
    const [rpc, http] = [http2Client(served.grpcPort), h1(served)];
    for (let i = 0; i < 300; i++) {
      const [one, two] = await Promise.all([
        http({ path, headers: type("application/json"), body: room }),
        rpc({ path, headers: type("application/grpc"), body: message }),
      ]);
      expect([one.status, grpc(two)]).toEqual([200, undefined]);
    }
    const large = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks" }) + " ".repeat(60 * kilobytes);
    for (let i = 0; i < 5; i++) {
      const answer = await http({ path: "/", headers: type("application/json"), body: large });
      expect(jsonRpc(answer)).toBeUndefined();
    }
  });
});
