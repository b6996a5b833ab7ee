import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import * as net from "node:net";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { arriving } from "../../src/http/inbound-budget.js";
import { createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { setConstants } from "../support/constants.js";
import { Figures } from "../support/figures.js";
import { held } from "../support/held.js";
import { connect as connectJudge, grpc, grpcWeb, type Judge, jsonRpc, rest } from "./answers.js";
import { begun, DATA, END_HEADERS, END_STREAM, fields, frame, HEADERS, WINDOW_UPDATE } from "./frames.js";
import { callBeside, connect, http1, http2Client, type RawRequest, type Send } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 30_000 });

const path = `/${A2AService.typeName}/ListTasks`;
const kilobytes = 1024;
/** Limits that allow each address 70 KiB of unfinished requests, including small requests of up to 2.5 KiB. */
const limits = { maxRequestBytes: 64 * kilobytes, maxArrivingBytes: 160 * kilobytes };
const part = Buffer.alloc(49 * kilobytes, " ");

/** Begins a request whose body does not end; the result gives it up. */
type Begin = (served: Served) => () => void;

function half(target: string, type: string, bytes = part.length): Begin {
  return ({ port }) => {
    const socket = net.connect(port, "127.0.0.1");
    cleanup(() => socket.destroy());
    socket.on("error", () => {});
    socket.write(
      `POST ${target} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: 60000\r\n\r\n`,
    );
    socket.write(part.subarray(0, bytes));
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

/** Begins a call whose message does not end. */
function halfCall(session: ClientHttp2Session): { readonly stream: ClientHttp2Stream; readonly begun: Promise<void> } {
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request(headers).on("error", () => {});
  const begun = new Promise<void>((resolve) => stream.write(envelope(Buffer.alloc(5), 0, 1_000), () => resolve()));
  return { stream, begun };
}

const message = envelope(bytesOf({ rpc: "ListTasks", request: {} }));
const h1 = ({ port }: Served): Send => http1(port);
const type = (name: string) => ({ "content-type": name, te: "trailers" });
const space = (bytes: number): string => " ".repeat(bytes);
const say = (bytes: number): Buffer =>
  envelope(bytesOf({ rpc: "SendMessage", request: messageOf(space(bytes)) as never }));

interface Wire {
  readonly name: string;
  readonly begin: Begin;
  readonly send: (served: Served) => Send;
  /** A request of so many bytes, and a little more. */
  readonly request: (bytes: number) => RawRequest;
  readonly judge: Judge;
  /** Code of a refused request; `taken` is that of an accepted one. */
  readonly refused: unknown;
  readonly taken?: unknown;
}

const rpc = { jsonrpc: "2.0", id: 1, method: "ListTasks" };
const wires: readonly Wire[] = [
  {
    name: "JSON-RPC",
    begin: half("/", "application/json"),
    send: h1,
    request: (bytes) => ({ path: "/", headers: type("application/json"), body: JSON.stringify(rpc) + space(bytes) }),
    judge: jsonRpc,
    refused: -32000,
  },
  {
    name: "HTTP+JSON",
    begin: half("/message:send", "application/json"),
    send: h1,
    request: (bytes) => ({ path: "/tasks/none:cancel", headers: type("application/json"), body: `${space(bytes)}{}` }),
    judge: rest,
    refused: 429,
    taken: 404,
  },
  {
    name: "Connect",
    begin: half(path, "application/json"),
    send: h1,
    request: (bytes) => ({ path, headers: type("application/json"), body: `${space(bytes)}{}` }),
    judge: connectJudge,
    refused: "resource_exhausted",
  },
  {
    name: "gRPC-Web",
    begin: half(path, "application/grpc-web+json"),
    send: h1,
    request: (bytes) => ({ path, headers: type("application/grpc-web+json"), body: envelope(`${space(bytes)}{}`) }),
    judge: grpcWeb,
    refused: 8,
  },
  {
    name: "gRPC on the HTTP port",
    begin: halfGrpc("port"),
    send: ({ port }) => http2Client(port),
    request: (bytes) => ({ path, headers: type("application/grpc+json"), body: envelope(`${space(bytes)}{}`) }),
    judge: grpc,
    refused: 8,
  },
  {
    name: "gRPC",
    begin: halfGrpc("grpcPort"),
    send: ({ grpcPort }) => http2Client(grpcPort),
    request: (bytes) => ({
      path: path.replace("ListTasks", "SendMessage"),
      headers: type("application/grpc"),
      body: say(bytes),
    }),
    judge: grpc,
    refused: 8,
  },
];

/** Bytes of a body, each of which comes by itself. As frames of HTTP/2 they take longer. */
const PIECES = 1024 * kilobytes;
const FRAMES = PIECES / 2;

/** A body under way: sends so many bytes more, and then the end. */
interface Upload {
  readonly send: (bytes: number) => Promise<unknown>;
  /** Returns the beginning of the answer. */
  readonly end: () => Promise<string>;
  /** Makes calls of a well-behaved caller. */
  readonly beside: (figures: Figures) => Promise<void>;
}

async function chunksOverHttp1(): Promise<Upload> {
  const { port } = await serve();
  const socket = net.connect(port, "127.0.0.1").on("error", () => {});
  cleanup(() => socket.destroy());
  const lines = ["POST / HTTP/1.1", "host: localhost", "content-type: application/json", "transfer-encoding: chunked"];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const answer = new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
  return {
    send: (bytes) => new Promise((resolve) => socket.write("1\r\n \r\n".repeat(bytes), resolve)),
    end: () => {
      socket.write("2\r\n{}\r\n0\r\n\r\n");
      return answer;
    },
    beside: (figures) => callBeside(figures, port),
  };
}

const framesOn = (port: "port" | "grpcPort") => async (): Promise<Upload> => {
  const served = await serve();
  const socket = net.connect(served[port], "127.0.0.1").on("error", () => {});
  cleanup(() => socket.destroy());
  const target = path.replace("ListTasks", "SendMessage");
  const headers = fields({
    ":method": "POST",
    ":scheme": "http",
    ":authority": "localhost",
    ":path": target,
    ...type("application/grpc"),
  });
  socket.write(Buffer.concat([begun, frame(HEADERS, END_HEADERS, 1, headers)]));
  const all = say(FRAMES);
  // Of the stream and of the connection: what the server lets come, and what came.
  const rooms = [65_535, 65_535];
  let at = 0;
  let said = "";
  let more: () => void = () => {};
  let input = Buffer.alloc(0);
  socket.on("data", (data: Buffer) => {
    input = Buffer.concat([input, data]);
    while (input.length >= 9 && input.length >= 9 + input.readUIntBE(0, 3)) {
      const size = 9 + input.readUIntBE(0, 3);
      const stream = input.readUInt32BE(5);
      const payload = input.subarray(9, size);
      if (input[3] === WINDOW_UPDATE) rooms[stream] = (rooms[stream] ?? 0) + payload.readUInt32BE(0);
      else if (input[3] === HEADERS) said += "answered";
      input = input.subarray(size);
    }
    more();
  });
  const send = async (bytes: number): Promise<void> => {
    for (const end = Math.min(at + bytes, all.length); at < end; ) {
      const count = Math.min(end - at, ...rooms);
      const pieces = Array.from({ length: count }, (_, i) => frame(DATA, 0, 1, all.subarray(at + i, at + i + 1)));
      at += count;
      for (const which of [0, 1]) rooms[which] = (rooms[which] ?? 0) - count;
      await new Promise<void>((resolve) => {
        if (count > 0) socket.write(Buffer.concat(pieces), () => resolve());
        else more = resolve;
      });
    }
  };
  const end = async (): Promise<string> => {
    await send(all.length);
    said = "";
    socket.write(frame(DATA, END_STREAM, 1));
    await until(() => said !== "");
    return said;
  };
  return { send, end, beside: (figures) => callBeside(figures, served.port) };
};

async function chunksOfFetch(): Promise<Upload> {
  const a2a = createA2A({ agent: obedient("arriving"), store: memoryStore() });
  cleanup(() => a2a.close({ graceMs: 0 }));
  let pieces: ReadableStreamDefaultController<Uint8Array> | undefined;
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    pieces = controller;
  };
  const body = new ReadableStream<Uint8Array>({ start });
  const headers = { "content-type": "application/json" };
  const request = new Request("http://localhost/", { method: "POST", headers, body, duplex: "half" });
  const answer = Promise.resolve(a2a.fetch(request)).then((response) => response.text());
  return {
    send: async (bytes) => {
      for (let i = 0; i < bytes; i++) {
        pieces?.enqueue(Buffer.from(" "));
        if (i % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    },
    end: () => {
      pieces?.enqueue(Buffer.from("{}"));
      pieces?.close();
      return answer;
    },
    beside: (figures) => figures.during(5, async () => (await a2a.fetch(new Request("http://localhost/tasks"))).text()),
  };
}

describe("bytes that are still arriving", () => {
  it.each(wires)(
    "are limited over $name, together with all others, and small requests have room [SRV-SEC-04]",
    async ({ begin, send: of, request, judge, refused, taken }) => {
      const served = await serve({ limits });
      const send = of(served);
      const large = { ...request(40 * kilobytes), inPieces: true };
      expect(judge(await send(large))).toBe(taken);
      const giveUp = begin(served);
      await until(async () => judge(await send(large)) === refused);
      // Unfinished requests over other bindings share the count.
      const others = half("/message:send", "application/json", 20 * kilobytes)(served);
      for (let i = 0; i < 3; i++) expect(judge(await send({ ...request(2 * kilobytes), inPieces: true }))).toBe(taken);
      // A request that has arrived completely does not count.
      expect(judge(await send(request(10 * kilobytes)))).toBe(taken);
      giveUp();
      others();
      await until(async () => judge(await send(large)) === taken);
      expect(served.errors()).toEqual([]);
      await served.server.close();
    },
  );

  it.each(["port", "grpcPort"] as const)(
    "are counted as they come: calls of gRPC that do not end are in nobody's way, on the %s",
    async (port) => {
      const served = await serve({ limits: { maxArrivingBytes: 1024 * kilobytes, maxRequestBytes: 64 * kilobytes } });
      const session = connect(served[port]);
      const open = Array.from({ length: 250 }, () => halfCall(session));
      await Promise.all(open.map(({ begun }) => begun));
      const answer = await h1(served)({
        path: "/",
        headers: type("application/json"),
        body: JSON.stringify(rpc) + space(60 * kilobytes),
        inPieces: true,
      });
      expect(jsonRpc(answer)).toBeUndefined();
      expect(open.filter(({ stream }) => stream.closed)).toEqual([]);
      session.destroy();
    },
  );

  it.each(["port", "grpcPort"] as const)("are of so many requests of one address, on the %s", async (port) => {
    setConstants(arriving, { maxPerAddress: 5 });
    const served = await serve();
    const session = connect(served[port]);
    const open = Array.from({ length: 5 }, () => halfCall(session));
    await Promise.all(open.map(({ begun }) => begun));
    const headers = type("application/grpc");
    const late = { path: path.replace("ListTasks", "SendMessage"), headers, body: say(10), inPieces: true };
    await until(async () => grpc(await http2Client(served[port])(late)) === 8);
    // A request that has arrived completely does not count.
    expect(grpc(await http2Client(served[port])({ path, headers, body: message }))).toBeUndefined();
    session.destroy();
    await until(async () => grpc(await http2Client(served[port])(late)) === undefined);
    expect(served.errors()).toEqual([]);
  });

  it.each([
    ["chunks of HTTP/1.1", PIECES, chunksOverHttp1],
    ["frames of HTTP/2", FRAMES, framesOn("port")],
    ["frames of HTTP/2, on the port of gRPC", FRAMES, framesOn("grpcPort")],
    ["chunks that fetch takes", PIECES, chunksOfFetch],
  ])("cost at most eight times their size in pieces of one byte: %s", async (name, pieces, open) => {
    const { send, end, beside } = await open();
    const figures = await Figures.begin(held);
    for (let i = 0; i < 16; i++) await send(pieces / 16);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await beside(figures);
    figures.print(`${pieces} bytes in ${name}`);
    expect(figures.grown).toBeLessThan((8 * pieces) / 2 ** 20);
    expect(await end()).toMatch(/-32600|answered/);
  });

  it("are counted no more when they are here", async () => {
    const served = await serve({ limits });
    const [grpcPort, http] = [http2Client(served.grpcPort), h1(served)];
    const room = Buffer.from(`{"contextId":"x"}${space(3 * kilobytes)}`);
    for (let i = 0; i < 300; i++) {
      const [one, two] = await Promise.all([
        http({ path, headers: type("application/json"), body: room }),
        grpcPort({ path, headers: type("application/grpc"), body: message }),
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
