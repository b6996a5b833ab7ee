import { connect as connectTo } from "node:net";
import { gzipSync } from "node:zlib";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { defaultLimits } from "../../src/core/limits.js";
import { connect, grpc, grpcWeb, type Judge, jsonRpc, rest } from "./answers.js";
import { http1, http2Client, type RawAnswer, type RawRequest, type Send } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, type Served, serve } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

const max = defaultLimits.maxRequestBytes;
const path = `/${A2AService.typeName}/SendMessage`;
const asking = (text: string): JsonObject =>
  ({ ...messageOf(`ask ${text}`), configuration: { historyLength: 0 } }) as unknown as JsonObject;

/** The request of exactly so many bytes, by its encoding. */
function ofSize(size: number, encode: (request: JsonObject) => Buffer): Buffer {
  // The length of a text has a length itself, so the first guess may be off by a few bytes.
  let text = size - encode(asking("")).length;
  for (let tries = 0; tries < 5; tries++) {
    const bytes = encode(asking("x".repeat(text)));
    if (bytes.length === size) return bytes;
    text += size - bytes.length;
  }
  throw new Error(`no request has ${size} bytes`);
}

const json = (request: JsonObject): Buffer => Buffer.from(JSON.stringify(request));
const rpc = (request: JsonObject): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: request }));
const binary = (request: JsonObject): Buffer => Buffer.from(bytesOf({ rpc: "SendMessage", request }));

interface Wire {
  readonly name: string;
  readonly request: (size: number) => RawRequest;
  readonly client: (served: Served) => Send;
  readonly judge: Judge;
  /** Status and code of a request that is too large. */
  readonly refusal: readonly [status: number, code: number | string];
  readonly said: (answer: RawAnswer) => string;
}

const h1 = ({ port }: Served): Send => http1(port);
const h2 = ({ port }: Served): Send => http2Client(port);
const trailerOf = ({ headers }: RawAnswer): string => decodeURIComponent(headers["grpc-message"] ?? "");
const bodyText = ({ body }: RawAnswer): string =>
  decodeURIComponent(body.toString("latin1").replaceAll(/%(?![0-9A-F]{2})/g, ""));

function over(target: string, type: string, encode: (request: JsonObject) => Buffer, enveloped = false) {
  return (size: number): RawRequest => {
    const message = ofSize(size, encode);
    const headers = { "content-type": type, te: "trailers" };
    return { path: target, headers, body: enveloped ? envelope(message) : message };
  };
}

const restRequest = over("/message:send", "application/json", json);
const wires: readonly Wire[] = [
  {
    name: "JSON-RPC",
    request: over("/", "application/json", rpc),
    client: h1,
    judge: jsonRpc,
    refusal: [413, -32600],
    said: bodyText,
  },
  { name: "HTTP+JSON", request: restRequest, client: h1, judge: rest, refusal: [413, 413], said: bodyText },
  { name: "HTTP+JSON over HTTP/2", request: restRequest, client: h2, judge: rest, refusal: [413, 413], said: bodyText },
  {
    name: "Connect in JSON",
    request: over(path, "application/json", json),
    client: h1,
    judge: connect,
    refusal: [429, "resource_exhausted"],
    said: bodyText,
  },
  {
    name: "Connect in binary",
    request: over(path, "application/proto", binary),
    client: h2,
    judge: connect,
    refusal: [429, "resource_exhausted"],
    said: bodyText,
  },
  {
    name: "gRPC-Web",
    request: over(path, "application/grpc-web+proto", binary, true),
    client: h1,
    judge: grpcWeb,
    refusal: [200, 8],
    said: bodyText,
  },
  {
    name: "gRPC on the HTTP port",
    request: over(path, "application/grpc+proto", binary, true),
    client: h2,
    judge: grpc,
    refusal: [200, 8],
    said: trailerOf,
  },
  {
    name: "gRPC",
    request: over(path, "application/grpc", binary, true),
    client: ({ grpcPort }) => http2Client(grpcPort),
    judge: grpc,
    refusal: [200, 8],
    said: trailerOf,
  },
];

/** A message that is small as it travels, and enormous as it is meant. */
const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024));
const packed = { "content-encoding": "gzip", "grpc-encoding": "gzip", "connect-content-encoding": "gzip" };
const bombs: [name: string, wire: Wire | undefined, type: string][] = [
  ["Connect", wires.find(({ name }) => name === "Connect in binary"), "application/proto"],
  ["gRPC-Web", wires.find(({ name }) => name === "gRPC-Web"), "application/grpc-web+proto"],
  ["gRPC on the HTTP port", wires.find(({ name }) => name === "gRPC on the HTTP port"), "application/grpc"],
  ["gRPC", wires.find(({ name }) => name === "gRPC"), "application/grpc"],
];

describe("a compressed request that would become too large", () => {
  it.each(bombs)("is refused over %s, and never unpacked as a whole [SRV-SEC-04]", async (_name, wire, type) => {
    if (wire === undefined) throw new Error("there is no such wire");
    const served = await serve();
    const body = wire.refusal[0] === 429 ? bomb : envelope(bomb, 1);
    const before = process.memoryUsage().external;
    const answer = await wire.client(served)({
      path,
      headers: { "content-type": type, te: "trailers", ...packed },
      body,
    });
    expect([answer.status, wire.judge(answer)]).toEqual(wire.refusal);
    expect(process.memoryUsage().external - before).toBeLessThan(10 * max);
    expect(served.errors()).toEqual([]);
  });
});

describe.each(wires)("a request over $name", ({ request, client, judge, refusal, said }) => {
  it("may have 8 MiB and not a byte more, and the next one is served [SRV-SEC-04]", async () => {
    const served = await serve();
    const send = client(served);
    expect(judge(await send(request(max)))).toBeUndefined();
    const refused = await send(request(max + 1));
    expect([refused.status, judge(refused)]).toEqual(refusal);
    expect(said(refused)).toContain(`${max}`);
    expect(judge(await send(request(1_000)))).toBeUndefined();
    expect(served.errors()).toEqual([]);
    await served.server.close();
  });
});

/** Writes a whole request before it reads anything of the answer, as most clients of HTTP/1.1 do, and then up to some words. */
async function retryWhileUnavailable(
  port: number,
  { path: target, headers, body = "" }: RawRequest,
  words: string,
): Promise<string> {
  const socket = connectTo(port, "127.0.0.1");
  cleanup(() => socket.destroy());
  socket.pause();
  const head = Object.entries({ ...headers, "content-length": Buffer.byteLength(body) }).map((pair) => pair.join(": "));
  socket.write([`POST ${target} HTTP/1.1`, "host: 127.0.0.1", ...head, "", ""].join("\r\n"));
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.write(body, () => resolve());
  });
  let text = "";
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.includes(words)) break;
  }
  return text;
}

describe.each(wires.filter(({ client }) => client === h1))(
  "a request over $name that is several times too large",
  ({ name, request, refusal }) => {
    // Browsers, which gRPC-Web is for, keep their connections.
    it.each(name === "gRPC-Web" ? ["keep-alive"] : ["keep-alive", "close"])(
      "is told so where the client sends all of it first, connection: %s [SRV-SEC-04]",
      async (connection) => {
        const served = await serve();
        const { headers, ...more } = request(3 * max);
        const answer = await retryWhileUnavailable(
          served.port,
          { ...more, headers: { ...headers, connection } },
          `${max}`,
        );
        expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${refusal[0]} `));
        expect(answer).toContain(`${max}`);
      },
    );
  },
);
