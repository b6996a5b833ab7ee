import { create, fromJson, toBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { ListValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { SendMessageRequestSchema as OlderRequestSchema } from "../../gen/a2a/v1/a2a_pb.js";
import { A2AService, MessageSchema, PartSchema, Role, SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { BinaryInput } from "../../src/wire/binary-input.js";
import { obedient } from "../conformance/agents.js";
import { connect, grpc, grpcWeb, type Judge, jsonRpc, rest } from "./answers.js";
import { http1, http2Client, type RawRequest, type Send } from "./raw-http.js";
import { envelope } from "./requests.js";
import { cleanup, type Served, serve } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

/* Requests that are nested deeper, or have more parts, than any client writes: each as bytes, as no library would make them. */

const service = `/${A2AService.typeName}`;

/** A field with bytes in it, so many times one in the other: the innermost field's number is the first of the list. */
function nested(levels: number, numbers: readonly number[]): Buffer {
  const heads: Buffer[] = [];
  let length = 0;
  for (let level = 0; level < levels; level++) {
    const head = headOf(numbers[level % numbers.length] as number, length);
    heads.push(head);
    length += head.length;
  }
  return Buffer.concat(heads.reverse());
}

function headOf(number: number, length: number): Buffer {
  const bytes: number[] = [];
  for (const value of [number * 8 + 2, length]) {
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    bytes.push(rest);
  }
  return Buffer.from(bytes);
}

const field = (number: number, bytes: Buffer): Buffer => Buffer.concat([headOf(number, bytes.length), bytes]);

/** A valid message with further fields appended. */
function message(...more: Buffer[]): Buffer {
  const head = toBinary(MessageSchema, create(MessageSchema, { messageId: "m", role: Role.USER }));
  return field(SendMessageRequestSchema.field.message.number, Buffer.concat([head, ...more]));
}

const parts = (count: number): Buffer => {
  const part = field(PartSchema.field.text.number, Buffer.from("x"));
  return Buffer.concat(Array<Buffer>(count).fill(field(MessageSchema.field.parts.number, part)));
};

const lists = (levels: number): Buffer => {
  const value = nested(2 * levels, [ListValueSchema.field.values.number, ValueSchema.field.listValue.number]);
  return field(MessageSchema.field.parts.number, field(PartSchema.field.data.number, value));
};

/** Groups of an unknown field, which older versions of protobuf have. */
const groups = (levels: number): Buffer =>
  Buffer.concat([Buffer.alloc(levels, 15 * 8 + 3), Buffer.alloc(levels, 15 * 8 + 4)]);

const json = (more: string): string => `{"message":{"messageId":"m","role":"ROLE_USER","parts":[${more}]}}`;
const jsonParts = (count: number): string => json(Array(count).fill('{"text":"x"}').join(","));
const jsonLists = (levels: number): string => json(`{"data":${"[".repeat(levels)}${"]".repeat(levels)}}`);
const jsonObjects = (levels: number): string => json(`{"data":${'{"a":'.repeat(levels)}1${"}".repeat(levels)}}`);

/** Messages beyond the limits. Small ones are refused while they are decoded, large ones by a scan before it. */
const bytes: Readonly<Record<string, Buffer>> = {
  "100 levels": message(lists(100)),
  "3,000 levels": message(lists(3_000)),
  "400,000 levels": message(lists(400_000)),
  "3,000 groups": message(parts(1), groups(3_000)),
  "3,000,000 groups": message(parts(1), groups(3_000_000)),
  "2,000,000 groups that do not end": Buffer.concat([message(parts(1)), groups(2_000_000).subarray(0, 2_000_000)]),
  "1,001 parts": message(parts(1_001)),
  "1,000,000 parts": message(parts(1_000_000)),
};
const texts: Readonly<Record<string, string>> = {
  "100 levels": jsonLists(100),
  "300 levels of objects": jsonObjects(300),
  "20,000 levels": jsonLists(20_000),
  "1,000,000 levels": jsonLists(1_000_000),
  "1,000,000 levels of objects": jsonObjects(1_000_000),
  "levels that do not end": json("[".repeat(2_000_000)).slice(0, 2_000_000),
  "1,001 parts": jsonParts(1_001),
  "400,000 parts": jsonParts(400_000),
};

interface Wire {
  readonly name: string;
  readonly client: (served: Served) => Send;
  readonly path: string;
  readonly type: string;
  readonly judge: Judge;
  /** Codes of a refusal: the request is invalid or too large. */
  readonly codes: readonly (number | string)[];
  readonly isBinary?: boolean;
  readonly encode: (body: Buffer) => Buffer;
}

const h1 = ({ port }: Served): Send => http1(port);
const h2 = ({ port }: Served): Send => http2Client(port);
const grpcPort = (served: Served): Send => http2Client(served.grpcPort);
const plain = (body: Buffer): Buffer => body;
const call =
  (method: string) =>
  (body: Buffer): Buffer =>
    Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${body.toString()}}`);

const rpc = { path: "/", type: "application/json", judge: jsonRpc, codes: [-32602, -32600, -32700] };
const ofRest = { path: "/message:send", type: "application/json", judge: rest, codes: [400, 413], encode: plain };
const ofConnect = { path: `${service}/SendMessage`, judge: connect, codes: ["invalid_argument", "resource_exhausted"] };
const inStream = { ...ofConnect, path: `${service}/SendStreamingMessage`, encode: (body: Buffer) => envelope(body) };
const ofGrpc = { path: `${service}/SendMessage`, codes: [3, 8], encode: (body: Buffer) => envelope(body) };
const proto = { ...ofGrpc, isBinary: true };
const web = { ...proto, judge: grpcWeb, type: "application/grpc-web+proto" };

const wires: readonly Wire[] = [
  { name: "JSON-RPC", client: h1, ...rpc, encode: call("SendMessage") },
  { name: "JSON-RPC, streams", client: h1, ...rpc, encode: call("SendStreamingMessage") },
  {
    name: "JSON-RPC, in a batch",
    client: h1,
    ...rpc,
    encode: (body) => Buffer.from(`[${call("SendMessage")(body).toString()}]`),
  },
  { name: "HTTP+JSON", client: h1, ...ofRest },
  { name: "HTTP+JSON, streams, over HTTP/2", client: h2, ...ofRest, path: "/message:stream" },
  { name: "Connect in JSON", client: h1, ...ofConnect, type: "application/json", encode: plain },
  { name: "Connect in binary", client: h2, ...ofConnect, type: "application/proto", isBinary: true, encode: plain },
  { name: "Connect in JSON, streams", client: h1, ...inStream, type: "application/connect+json" },
  { name: "Connect in binary, streams", client: h1, ...inStream, type: "application/connect+proto", isBinary: true },
  { name: "gRPC-Web", client: h1, ...web },
  { name: "gRPC-Web in JSON", client: h1, ...web, type: "application/grpc-web+json", isBinary: false },
  { name: "gRPC on the HTTP port", client: h2, ...proto, judge: grpc, type: "application/grpc" },
  { name: "gRPC in JSON on the HTTP port", client: h2, ...ofGrpc, judge: grpc, type: "application/grpc+json" },
  { name: "gRPC", client: grpcPort, ...proto, judge: grpc, type: "application/grpc" },
  {
    name: "gRPC, streams",
    client: grpcPort,
    ...proto,
    path: `${service}/SendStreamingMessage`,
    judge: grpc,
    type: "application/grpc",
  },
  { name: "fetch, JSON-RPC", client: overFetch, ...rpc, encode: call("SendMessage") },
  { name: "fetch, HTTP+JSON", client: overFetch, ...ofRest },
  { name: "fetch, Connect in JSON", client: overFetch, ...ofConnect, type: "application/json", encode: plain },
  {
    name: "fetch, Connect in binary",
    client: overFetch,
    ...ofConnect,
    type: "application/proto",
    isBinary: true,
    encode: plain,
  },
  { name: "fetch, gRPC-Web", client: overFetch, ...web },
];

/** The same through no connection. */
function overFetch(): Send {
  const a2a = createA2A({ agent: obedient("nested"), store: memoryStore() });
  cleanup(() => a2a.close({ graceMs: 0 }));
  return async ({ path, headers = {}, body = "" }) => {
    const request = new Request(`http://127.0.0.1${path}`, { method: "POST", headers, body: body as string });
    const answer = await a2a.fetch(request);
    const found = Object.fromEntries(answer.headers);
    return { status: answer.status, headers: found, body: Buffer.from(await answer.arrayBuffer()) };
  };
}

describe.each(wires)("over $name", ({ client, path, type, judge, codes, isBinary = false, encode }) => {
  it("requests that nest too deep or have too many parts are the client's mistake, and cost no other one [SRV-SEC-04 SRV-SEC-06]", async () => {
    const served = await serve();
    const send = client(served);
    const headers = { "content-type": type, "a2a-version": "1.0", te: "trailers" };
    const bodies = isBinary ? bytes : texts;
    for (const [what, body] of Object.entries(bodies)) {
      const answer = await send({ path, headers, body: encode(Buffer.from(body)) });
      const code = judge(answer);
      expect({ what, isRefused: codes.includes(code as never), code }).toMatchObject({ isRefused: true });
      // The refusal is short, however large the request is.
      expect(answer.body.length, what).toBeLessThan(64 * 1024);
    }
    const well = isBinary ? message(parts(3)) : Buffer.from(jsonParts(3));
    expect(judge(await send({ path, headers, body: encode(well) }))).toBeUndefined();
    expect(served.errors()).toEqual([]);
  });
});

/** An object of 200,000 short texts, which is far below the limits of bytes. */
const members = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`k${i}`, "s"]));
const many = { message: { messageId: "m", role: "ROLE_USER", parts: [{ data: members }] } };
const manyInBytes = Buffer.from(toBinary(SendMessageRequestSchema, fromJson(SendMessageRequestSchema, many)));
const manyInJson = Buffer.from(JSON.stringify(many));

const older = { request: { messageId: "m", role: "ROLE_USER", content: [{ data: { data: members } }] } };
const olderInBytes = toBinary(OlderRequestSchema, fromJson(OlderRequestSchema, older));
const olderJson = { "content-type": "application/json", "a2a-version": "0.3" };
const ofOlder = (type: string): RawRequest => ({
  path: "/a2a.v1.A2AService/SendMessage",
  headers: { "content-type": type, te: "trailers" },
  body: envelope(olderInBytes),
});
const inParams = (method: string, params: object): RawRequest => ({
  path: "/",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
});
const ofKind = { messageId: "m", kind: "message", role: "user", parts: [{ kind: "data", data: members }] };
const ofType = { id: "t", message: { role: "user", parts: [{ type: "data", data: members }] } };

const withMany: readonly (readonly [name: string, client: (served: Served) => Send, request: RawRequest])[] = [
  ...wires.map(({ name, client, path, type, isBinary = false, encode }) => {
    const headers = { "content-type": type, "a2a-version": "1.0", te: "trailers" };
    return [name, client, { path, headers, body: encode(isBinary ? manyInBytes : manyInJson) }] as const;
  }),
  ["JSON-RPC of 0.3", h1, inParams("message/send", { message: ofKind })],
  ["JSON-RPC of 0.1", h1, inParams("tasks/send", ofType)],
  ["HTTP+JSON of 0.3", h1, { path: "/v1/message:send", headers: olderJson, body: JSON.stringify(older) }],
  ["gRPC-Web of 0.3", h1, ofOlder("application/grpc-web+proto")],
  ["gRPC of 0.3 on the HTTP port", h2, ofOlder("application/grpc")],
  ["gRPC of 0.3", grpcPort, ofOlder("application/grpc")],
];

it.each(withMany)(
  "a data part of 200,000 members is refused before it is parsed: %s [SRV-SEC-04]",
  async (_name, client, request) => {
    const send = client(await serve());
    const parsed = vi.spyOn(JSON, "parse");
    const texts = [vi.spyOn(BinaryInput.prototype, "text"), vi.spyOn(BinaryReader.prototype, "string")];
    onTestFinished(() => void vi.restoreAllMocks());
    const { headers, body } = await send(request);
    expect(`${headers["grpc-message"]} ${body.toString("latin1")}`).toMatch(/more( |%20)than( |%20)50000( |%20)values/);
    expect(parsed.mock.calls.filter(([text]) => text.length > 64 * 1024)).toEqual([]);
    for (const { mock } of texts) expect(mock.calls.length).toBeLessThan(1_000);
  },
);
