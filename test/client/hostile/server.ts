import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { StreamResponseSchema, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fields,
  frame,
  HEADERS,
  preface,
  SETTINGS,
  WINDOW_UPDATE,
} from "../../network/frames.js";

/** How an answer harms who keeps what it is made of: by values that take no room, or in pieces that do not. */
export type Harm = "empty values" | "chunks of one byte";

/** A task in an answer to GetTask, or in the one event of a stream; or the agent's card. */
export type Kind = "unary" | "stream" | "card";

export const bindings = ["JSONRPC", "HTTP+JSON", "CONNECT", "GRPC-WEB", "GRPC"] as const;
type Binding = (typeof bindings)[number];

/** Values without anything in them. */
const EMPTY = 5_000_000;

/** Characters of the text that comes byte by byte. */
export const TEXT = 1_500_000;

/** The same in a card, which has at most a megabyte. */
export const CARD_TEXT = 900_000;

function cardOf(harm: Harm): Buffer {
  const more = harm === "empty values" ? `"skills":[${"{},".repeat(340_000)}{}]` : `"name":"${"x".repeat(CARD_TEXT)}"`;
  const supportedInterfaces = [{ url: "http://127.0.0.1:1", protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
  return Buffer.from(`{"supportedInterfaces":${JSON.stringify(supportedInterfaces)},${more}}`);
}

const text = "x".repeat(TEXT);

function jsonOf(binding: Binding, kind: Kind, harm: Harm): Buffer {
  if (kind === "card") return cardOf(harm);
  const more = harm === "empty values" ? `"history":[${"{},".repeat(EMPTY)}{}]` : artifacts;
  const task = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},${more}}`;
  const said = kind === "unary" ? task : `{"task":${task}}`;
  const json = binding === "JSONRPC" ? `{"jsonrpc":"2.0","id":1,"result":${said}}` : said;
  return Buffer.from(kind === "unary" ? json : `data: ${json}\n\n`);
}

const artifacts = `"artifacts":[{"artifactId":"a","parts":[{"text":"${text}"}]}]`;

function binaryOf(binding: Binding, kind: Kind, harm: Harm): Buffer {
  const parts = [{ content: { case: "text" as const, value: text } }];
  const more = harm === "empty values" ? {} : { artifacts: [{ artifactId: "a", parts }] };
  const known = toBinary(TaskSchema, create(TaskSchema, { id: "t", contextId: "c", ...more }));
  const empty = new BinaryWriter().tag(TaskSchema.field.history.number, WireType.LengthDelimited).uint32(0).finish();
  const task = harm === "empty values" ? Buffer.concat([known, Buffer.alloc(2 * EMPTY, empty)]) : Buffer.from(known);
  const { number } = StreamResponseSchema.field.task;
  const inEvent = (): Buffer =>
    Buffer.from(new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(task).finish());
  const message = kind === "unary" ? task : inEvent();
  if (binding === "CONNECT" && kind === "unary") return message;
  const end = {
    CONNECT: envelope(2, Buffer.from("{}")),
    "GRPC-WEB": envelope(0x80, Buffer.from("grpc-status: 0\r\n")),
  };
  return Buffer.concat([envelope(0, message), ...(binding === "GRPC" ? [] : [end[binding as keyof typeof end]])]);
}

function envelope(flags: number, data: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

function typeOf(binding: Binding, kind: Kind): string {
  if (binding === "CONNECT") return kind === "unary" ? "application/proto" : "application/connect+proto";
  if (binding === "GRPC-WEB") return "application/grpc-web+proto";
  return kind === "stream" ? "text/event-stream" : "application/json";
}

/** The body in chunks (RFC 9112, 7.1). */
function chunked(body: Buffer, harm: Harm): Buffer {
  if (harm === "empty values") {
    const head = Buffer.from(`${body.length.toString(16)}\r\n`);
    return Buffer.concat([head, body, Buffer.from("\r\n0\r\n\r\n")]);
  }
  const bytes = Buffer.alloc(6 * body.length, "1\r\n?\r\n");
  for (const [at, byte] of body.entries()) bytes[6 * at + 3] = byte;
  return Buffer.concat([bytes, Buffer.from("0\r\n\r\n")]);
}

/** A server that gives this answer to whatever comes. */
export async function hostile(binding: Binding, kind: Kind, harm: Harm): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>();
  const answer = binding === "GRPC" ? overHttp2(binaryOf(binding, kind, harm), harm) : overHttp1(binding, kind, harm);
  const server: Server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    answer(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

function overHttp1(binding: Binding, kind: Kind, harm: Harm): (socket: Socket) => void {
  const isJson = binding === "JSONRPC" || binding === "HTTP+JSON";
  const body = isJson ? jsonOf(binding, kind, harm) : binaryOf(binding, kind, harm);
  const lines = ["HTTP/1.1 200 OK", `Content-Type: ${typeOf(binding, kind)}`, "Transfer-Encoding: chunked", "", ""];
  const all = Buffer.concat([Buffer.from(lines.join("\r\n")), chunked(body, harm)]);
  return (socket) => socket.once("data", () => socket.write(all));
}

/** Sends as much as the client's windows take (RFC 9113, 6.9). */
function overHttp2(body: Buffer, harm: Harm): (socket: Socket) => void {
  const size = harm === "empty values" ? 16 * 1024 : 1;
  const status = Buffer.concat([Buffer.from([0x88]), fields({ "content-type": "application/grpc+proto" })]);
  return (socket) => {
    let received = Buffer.alloc(0);
    let skip = preface.length;
    let stream = 0;
    let at = 0;
    // Of the connection, and of the one stream there is.
    const windows = [65_535, 65_535];
    const send = (): void => {
      const frames: Buffer[] = [];
      for (; at < body.length && Math.min(...windows) >= size; at += size) {
        const piece = body.subarray(at, at + size);
        for (const which of [0, 1]) windows[which] = Number(windows[which]) - piece.length;
        frames.push(frame(DATA, 0, stream, piece));
      }
      if (at >= body.length && stream > 0) {
        frames.push(frame(HEADERS, END_HEADERS | END_STREAM, stream, fields({ "grpc-status": "0" })));
        stream = 0;
      }
      socket.write(Buffer.concat(frames));
    };
    socket.write(frame(SETTINGS, 0, 0));
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < skip) return;
      received = received.subarray(skip);
      skip = 0;
      while (received.length >= 9 && received.length >= 9 + received.readUIntBE(0, 3)) {
        const end = 9 + received.readUIntBE(0, 3);
        const [type, flags, id] = [received[3], Number(received[4]), received.readUInt32BE(5)];
        if (type === SETTINGS && flags === 0) socket.write(frame(SETTINGS, 1, 0));
        if (type === WINDOW_UPDATE) {
          const which = id === 0 ? 0 : 1;
          windows[which] = Number(windows[which]) + received.readUInt32BE(9);
        }
        if (type === HEADERS) {
          stream = id;
          socket.write(frame(HEADERS, END_HEADERS, id, status));
        }
        received = received.subarray(end);
      }
      if (stream > 0) send();
    });
  };
}
