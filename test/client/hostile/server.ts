import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { StreamResponseSchema, TaskSchema, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
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

/**
 * Kinds of harm to a client that stores an answer: values that are empty on the wire, tiny chunks, or an endless body.
 */
export type Harm = "empty values" | "chunks of one byte" | "an error of empty values" | "an endless error";

/**
 * The place of the answer: a task in an answer to GetTask, a task in the only event of a stream, or the agent's card.
 */
export type Kind = "unary" | "stream" | "card";

export const bindings = ["JSONRPC", "HTTP+JSON", "CONNECT", "GRPC-WEB", "GRPC"] as const;
type Binding = (typeof bindings)[number];

/** Number of empty values. */
const EMPTY = 5_000_000;

/** Length of the text that arrives byte by byte. */
export const TEXT = 1_500_000;

/** The same in a card, which may have at most a megabyte. */
export const CARD_TEXT = 900_000;

function cardOf(harm: Harm): Buffer {
  const more = harm === "empty values" ? `"skills":[${"{},".repeat(340_000)}{}]` : `"name":"${"x".repeat(CARD_TEXT)}"`;
  const supportedInterfaces = [{ url: "http://127.0.0.1:1", protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
  return Buffer.from(`{"supportedInterfaces":${JSON.stringify(supportedInterfaces)},${more}}`);
}

const text = "x".repeat(TEXT);

function jsonOf({ binding, kind, harm, version }: Answer): Buffer {
  if (kind === "card") return cardOf(harm);
  const more = harm === "empty values" ? `"history":[${empty}]` : artifacts;
  const state = version === undefined || binding === "HTTP+JSON" ? "TASK_STATE_COMPLETED" : "completed";
  const task = `{"kind":"task","id":"t","contextId":"c","status":{"state":"${state}"},${more}}`;
  const said = kind === "unary" || version !== undefined ? task : `{"task":${task}}`;
  const json = binding === "JSONRPC" ? `{"jsonrpc":"2.0","id":1,"result":${said}}` : said;
  return Buffer.from(kind === "unary" ? json : `data: ${json}\n\n`);
}

const empty = `${"{},".repeat(EMPTY)}{}`;

/** Artifacts whose part is valid in every version. */
const artifacts = `"artifacts":[{"artifactId":"a","parts":[{"kind":"text","type":"text","text":"${text}"}]}]`;

/** An error in the form of each binding. */
function errorOf(binding: Binding): string {
  const fault = `"message":"x","details":[${empty}],"data":[${empty}]`;
  if (binding === "CONNECT") return `{"code":"internal",${fault}}`;
  return `{"jsonrpc":"2.0","id":1,"error":{"code":${binding === "JSONRPC" ? -32603 : 500},${fault}}}`;
}

function binaryOf({ binding, kind, harm }: Answer): Buffer {
  const parts = [{ content: { case: "text" as const, value: text } }];
  const more = harm === "empty values" ? {} : { artifacts: [{ artifactId: "a", parts }] };
  const status = { state: TaskState.COMPLETED };
  const known = toBinary(TaskSchema, create(TaskSchema, { id: "t", contextId: "c", status, ...more }));
  const nothing = new BinaryWriter().tag(TaskSchema.field.history.number, WireType.LengthDelimited).uint32(0).finish();
  const task = harm === "empty values" ? Buffer.concat([known, Buffer.alloc(2 * EMPTY, nothing)]) : Buffer.from(known);
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

function typeOf({ binding, kind, harm }: Answer): string {
  if (harm.includes("error")) return "application/json";
  if (binding === "CONNECT") return kind === "unary" ? "application/proto" : "application/connect+proto";
  if (binding === "GRPC-WEB") return "application/grpc-web+proto";
  return kind === "stream" ? "text/event-stream" : "application/json";
}

/** Encodes the body in chunks (RFC 9112, 7.1). */
function chunked(body: Buffer, harm: Harm): Buffer {
  if (harm !== "chunks of one byte") {
    const head = Buffer.from(`${body.length.toString(16)}\r\n`);
    return Buffer.concat([head, body, Buffer.from("\r\n0\r\n\r\n")]);
  }
  const bytes = Buffer.alloc(6 * body.length, "1\r\n?\r\n");
  for (const [at, byte] of body.entries()) bytes[6 * at + 3] = byte;
  return Buffer.concat([bytes, Buffer.from("0\r\n\r\n")]);
}

/** A server's answer in the form of a version. Default: the current version. */
export interface Answer {
  readonly binding: Binding;
  readonly kind: Kind;
  readonly harm: Harm;
  readonly version?: "0.1" | "0.3" | undefined;
}

/** A server that gives this answer to every request. */
export async function hostile(given: Answer): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>();
  const answer = given.binding === "GRPC" ? overHttp2(given) : overHttp1(given);
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

function overHttp1(given: Answer): (socket: Socket) => void {
  const { binding, harm } = given;
  const isError = harm.includes("error");
  const isJson = binding === "JSONRPC" || binding === "HTTP+JSON";
  const status = isError ? "500 Internal Server Error" : "200 OK";
  const lines = [`HTTP/1.1 ${status}`, `Content-Type: ${typeOf(given)}`, "Transfer-Encoding: chunked", "", ""];
  const head = Buffer.from(lines.join("\r\n"));
  if (harm === "an endless error") return (socket) => socket.once("data", () => void endless(socket, head));
  const body = isError ? Buffer.from(errorOf(binding)) : isJson ? jsonOf(given) : binaryOf(given);
  const all = Buffer.concat([head, chunked(body, harm)]);
  return (socket) => socket.once("data", () => socket.write(all));
}

async function endless(socket: Socket, head: Buffer): Promise<void> {
  const chunk = Buffer.from(`4000\r\n${"x".repeat(16 * 1024)}\r\n`);
  for (let next = head; !socket.destroyed; next = chunk) if (!socket.write(next)) await drained(socket);
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("drain", resolve);
    socket.once("close", resolve);
  });
}

/** Sends as much as the client's windows allow (RFC 9113, 6.9). */
function overHttp2(given: Answer): (socket: Socket) => void {
  const isEndless = given.harm === "an endless error";
  const body = isEndless ? Buffer.alloc(16 * 1024, "x") : binaryOf(given);
  const size = given.harm === "chunks of one byte" ? 1 : 16 * 1024;
  // Status 500 or 200, by its index in the static table of HPACK (RFC 7541, appendix A).
  const type = isEndless ? "text/plain" : "application/grpc+proto";
  const status = Buffer.concat([Buffer.from([isEndless ? 0x8e : 0x88]), fields({ "content-type": type })]);
  return (socket) => {
    let received = Buffer.alloc(0);
    let skip = preface.length;
    let stream = 0;
    let at = 0;
    // Windows of the connection and of its only stream.
    const windows = [65_535, 65_535];
    const send = (): void => {
      const frames: Buffer[] = [];
      for (; at < body.length && Math.min(...windows) >= size; at += size) {
        const piece = body.subarray(at, at + size);
        for (const which of [0, 1]) windows[which] = Number(windows[which]) - piece.length;
        frames.push(frame(DATA, 0, stream, piece));
        if (isEndless) at -= size;
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
