import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { ListValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { A2AService, MessageSchema, PartSchema, Role, SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  begun,
  CONTINUATION,
  DATA,
  END_HEADERS,
  fields,
  frame,
  HEADERS,
  PING,
  preface,
  RST_STREAM,
  request,
  SETTINGS,
} from "../../test/network/frames.js";

/** An attack on a server: pieces that are sent at an even pace over some connections. */
export interface Attack {
  readonly name: string;
  readonly port: "http" | "grpc";
  readonly connections: number;
  /** Pieces a second, over all connections. One that was closed is opened again when a piece of its is due. */
  readonly perSecond: number;
  /** Bytes that each connection begins with. */
  readonly begin: Uint8Array;
  /** Returns the bytes of a piece. The first piece of a connection has the number 0. */
  readonly piece: (index: number) => Uint8Array;
  /** Answers are left unread. */
  readonly isDeaf?: boolean;
}

const KIB = 1024;
const none = new Uint8Array();
const odd = (index: number): number => 2 * index + 1;
const rpc = `/${A2AService.typeName}/SendMessage`;
const grpc = { ":path": rpc, "content-type": "application/grpc", te: "trailers" };
const post = (path: string, headers: Record<string, string>, body: Uint8Array | string, length?: number): Buffer => {
  const all = { host: "localhost", ...headers, "content-length": `${length ?? Buffer.byteLength(body)}` };
  const head = [`POST ${path} HTTP/1.1`, ...Object.entries(all).map((pair) => pair.join(": ")), "", ""].join("\r\n");
  return Buffer.concat([Buffer.from(head), Buffer.from(body as Uint8Array)]);
};
const sendJson = (body: string): Buffer => post("/message:send", { "content-type": "application/json" }, body);
const message = (parts: string, more = ""): string =>
  `{"message":{"messageId":"m","role":"ROLE_USER","parts":[${parts}]${more}}}`;
const envelope = (bytes: Uint8Array, flags = 0, length = bytes.length): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, bytes]);
};
/** A call of gRPC whose body is in frames of 16 KiB, which is what a connection takes at first. */
const call = (index: number, body: Uint8Array, headers: Record<string, string> = {}): Buffer => {
  const frames: Buffer[] = [opened(odd(index), { ...grpc, ...headers })];
  for (let at = 0; at < body.length; at += 16 * KIB) {
    const isLast = at + 16 * KIB >= body.length;
    frames.push(frame(DATA, isLast ? 1 : 0, odd(index), body.subarray(at, at + 16 * KIB)));
  }
  return Buffer.concat(frames);
};
const opened = (stream: number, headers: Record<string, string>): Buffer =>
  frame(HEADERS, END_HEADERS, stream, fields({ ":method": "POST", ":scheme": "http", ":authority": "x", ...headers }));
const reset = (stream: number): Buffer => frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8]));

function binary(parts: number): Uint8Array {
  const all = Array.from({ length: parts }, () => ({ content: { case: "text", value: "x" } as const }));
  return toBinary(
    SendMessageRequestSchema,
    create(SendMessageRequestSchema, { message: { messageId: "m", role: Role.USER, parts: all } }),
  );
}

/** A field of bytes as protobuf writes it. */
function field({ number }: { readonly number: number }, bytes: Uint8Array): Buffer {
  const head = [number * 8 + 2];
  let { length } = bytes;
  for (; length > 127; length >>= 7) head.push((length & 127) | 128);
  return Buffer.concat([Buffer.from([...head, length]), bytes]);
}

/** A message with lists in lists, which no library would write. */
function nested(depth: number): Uint8Array {
  let value: Buffer = Buffer.alloc(0);
  for (let i = 0; i < depth; i++)
    value = field(ValueSchema.field.listValue, field(ListValueSchema.field.values, value));
  return field(
    SendMessageRequestSchema.field.message,
    field(MessageSchema.field.parts, field(PartSchema.field.data, value)),
  );
}

const deepJson = sendJson(message(`{"data":${"[".repeat(50_000)}${"]".repeat(50_000)}}`));
const manyJson = sendJson(message(Array(5_000).fill('{"text":"x"}').join(",")));
const [deepBinary, manyBinary] = [envelope(nested(2_000)), envelope(binary(5_000))];
/** 64 MiB of nothing, in 64 KiB. */
const bomb = gzipSync(Buffer.alloc(64 * KIB * KIB));
const connectBomb = post(rpc, { "content-type": "application/json", "content-encoding": "gzip" }, bomb);
const headerFlood = Buffer.from(
  `GET /tasks HTTP/1.1\r\nhost: x\r\n${Array.from({ length: 1_000 }, (_, i) => `x-${i}: ${"y".repeat(60)}\r\n`).join("")}\r\n`,
);
/** Fields of 126 bytes, without compression, as many as there are in 60 KiB. */
const manyFields = fields(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x-${i}`, "y".repeat(110)])));
const floodOfFields = (stream: number): Buffer => {
  const frames = [
    frame(HEADERS, 0, stream, fields({ ":method": "POST", ":scheme": "http", ":authority": "x", ...grpc })),
  ];
  for (let at = 0; at < manyFields.length; at += 16_000) {
    const isLast = at + 16_000 >= manyFields.length;
    frames.push(frame(CONTINUATION, isLast ? END_HEADERS : 0, stream, manyFields.subarray(at, at + 16_000)));
  }
  return Buffer.concat(frames);
};
/** No stream may be written to: its answers wait. */
const shut = Buffer.concat([preface, frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))]);
const asked = envelope(binary(1));

/** On both ports, over HTTP/2. */
const overHttp2: readonly Omit<Attack, "port">[] = [
  {
    name: "slow headers (CONTINUATION)",
    connections: 200,
    perSecond: 400,
    begin: Buffer.concat([begun, frame(HEADERS, 0, 1, fields(grpc))]),
    piece: () => frame(CONTINUATION, 0, 1),
  },
  {
    name: "slow bodies (DATA)",
    connections: 200,
    perSecond: 400,
    begin: Buffer.concat([begun, opened(1, grpc), frame(DATA, 0, 1, envelope(none, 0, 1_000))]),
    piece: () => frame(DATA, 0, 1, Buffer.from([10])),
  },
  {
    name: "answers that are not taken",
    connections: 20,
    perSecond: 100,
    begin: shut,
    piece: (index) => request(odd(index), grpc, asked),
    isDeaf: true,
  },
  {
    name: "oversized messages",
    connections: 4,
    perSecond: 50,
    begin: begun,
    piece: (index) => Buffer.concat([opened(odd(index), grpc), frame(DATA, 0, odd(index), envelope(none, 0, 2 ** 30))]),
  },
  { name: "deep nesting", connections: 2, perSecond: 20, begin: begun, piece: (index) => call(index, deepBinary) },
  { name: "many parts", connections: 2, perSecond: 10, begin: begun, piece: (index) => call(index, manyBinary) },
  {
    name: "compression bombs",
    connections: 2,
    perSecond: 4,
    begin: begun,
    piece: (index) => call(index, envelope(bomb, 1), { "grpc-encoding": "gzip" }),
  },
  { name: "header flood", connections: 4, perSecond: 50, begin: begun, piece: (index) => floodOfFields(odd(index)) },
  {
    name: "CONTINUATION flood",
    connections: 2,
    perSecond: 2_000,
    begin: begun,
    piece: (index) =>
      index === 0 ? frame(HEADERS, 0, 1, fields(grpc)) : frame(CONTINUATION, 0, 1, fields({ "x-a": "b" })),
  },
  {
    name: "RST flood",
    connections: 4,
    perSecond: 1_000,
    begin: begun,
    piece: (index) => Buffer.concat([request(odd(index), grpc, asked), reset(odd(index))]),
  },
  {
    name: "PING flood",
    connections: 2,
    perSecond: 5_000,
    begin: begun,
    piece: () => frame(PING, 0, 0, Buffer.alloc(8)),
  },
  { name: "SETTINGS flood", connections: 2, perSecond: 2_000, begin: begun, piece: () => frame(SETTINGS, 0, 0) },
];

const overHttp1: readonly Attack[] = [
  {
    name: "slow headers",
    port: "http",
    connections: 500,
    perSecond: 500,
    begin: Buffer.from("POST / HTTP/1.1\r\nhost: localhost\r\n"),
    piece: () => Buffer.from("x-a: b\r\n"),
  },
  {
    name: "slow bodies",
    port: "http",
    connections: 500,
    perSecond: 500,
    begin: post("/", { "content-type": "application/json" }, "{", 1_000_000),
    piece: () => Buffer.from(" "),
  },
  {
    name: "answers that are not taken",
    port: "http",
    connections: 50,
    perSecond: 500,
    begin: none,
    piece: () => sendJson(message('{"text":"x"}')),
    isDeaf: true,
  },
  {
    name: "oversized messages",
    port: "http",
    connections: 4,
    perSecond: 50,
    begin: none,
    piece: () => post("/message:send", { "content-type": "application/json" }, Buffer.alloc(16 * KIB, 32), 2 ** 30),
  },
  { name: "deep nesting", port: "http", connections: 4, perSecond: 20, begin: none, piece: () => deepJson },
  { name: "many parts", port: "http", connections: 4, perSecond: 10, begin: none, piece: () => manyJson },
  {
    name: "compression bombs, Connect",
    port: "http",
    connections: 2,
    perSecond: 4,
    begin: none,
    piece: () => connectBomb,
  },
  { name: "header flood", port: "http", connections: 4, perSecond: 100, begin: none, piece: () => headerFlood },
];

const onPort = (port: "http" | "grpc"): Attack[] =>
  overHttp2.map((attack) => ({ ...attack, port, name: `${attack.name}, HTTP/2` }));

/** Everything that is tried. Rates are such that the attacker uses little of a processor. */
export const attacks: readonly Attack[] = [...overHttp1, ...onPort("http"), ...onPort("grpc")];

export const titleOf = ({ name, port }: Attack): string => `${name}, ${port === "http" ? "HTTP port" : "gRPC port"}`;
