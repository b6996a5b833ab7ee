import type { Socket } from "node:net";
import type { WireCall } from "../protocol.js";
import { openSocket } from "./http1.js";
import { type Connection, Numbered, type OpenStream, type StreamSink, unexpected } from "./request.js";

type Http2Call = WireCall & { transport: "http2" };

/** Frame types and flags of RFC 9113, section 6. */
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;

/** A failed call has no message. Its trailers contain the status, and this client does not decode them. */
const NOT_OK = "other than OK, or a message that is another one";

const MAX_WINDOW = 2 ** 31 - 1;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}

/** `:method: POST` and `:scheme: http` in the static table of HPACK (RFC 7541, appendix A), and where the dynamic one begins. */
const STATIC_FIELDS = Buffer.from([0x83, 0x86]);
const FIRST_DYNAMIC = 62;

/** The headers of a call as the first one of a connection sends them, and as all others do: by reference to the first. */
function headerBlocks(call: Http2Call): { first: Buffer; later: Buffer } {
  const fields: (readonly [string, string])[] = [
    [":path", call.path],
    [":authority", `127.0.0.1:${call.port}`],
    ...call.headers,
  ];
  const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, "latin1")]);
  const literals = fields.flatMap(([name, value]) => [Buffer.from([0x40]), text(name), text(value)]);
  // The newest entry has the lowest index.
  const references = fields.map((_, place) => 0x80 | (FIRST_DYNAMIC + fields.length - 1 - place));
  return { first: Buffer.concat([STATIC_FIELDS, ...literals]), later: Buffer.from([...STATIC_FIELDS, ...references]) };
}

/** Receives the frames of a stream. */
interface FrameSink {
  frame(type: number, flags: number, stream: number, payload: Buffer): void;
  broken(error: Error): void;
}

/**
 * An HTTP/2 connection as a gRPC client needs it, and no more. The clients that exist cost more for a call than the
 * servers measured here, and so would measure themselves. Windows are as large as they can be.
 */
class Http2Socket {
  readonly #socket: Socket;
  readonly #sink: FrameSink;
  #held: Buffer = Buffer.alloc(0);
  #consumed = 0;
  #unsent: Buffer[] = [];

  constructor(socket: Socket, sink: FrameSink) {
    this.#socket = socket;
    this.#sink = sink;
    const settings = Buffer.from([0, 2, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff]);
    socket.write(
      Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0, settings), this.#window(MAX_WINDOW - 65_535)]),
    );
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (error) => sink.broken(error));
    socket.on("close", () => sink.broken(new Error("the server closed the connection")));
  }

  /** Calls that begin in the same moment leave together, as they do from other clients. */
  write(bytes: Buffer): void {
    if (this.#unsent.push(bytes) === 1) process.nextTick(this.#send);
  }

  readonly #send = (): void => {
    this.#socket.write(Buffer.concat(this.#unsent));
    this.#unsent = [];
  };

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.removeAllListeners("close");
    this.#socket.destroy();
  }

  #window(bytes: number): Buffer {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(bytes);
    return frame(WINDOW_UPDATE, 0, 0, payload);
  }

  #read(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let at = 0;
    while (bytes.length - at >= 9) {
      const length = bytes.readUIntBE(at, 3);
      if (bytes.length - at < 9 + length) break;
      const payload = bytes.subarray(at + 9, at + 9 + length);
      this.#frame(bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, bytes.readUInt32BE(at + 5), payload);
      at += 9 + length;
    }
    this.#held = bytes.subarray(at);
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === DATA) {
      this.#consumed += payload.length;
      if (this.#consumed > MAX_WINDOW / 2) {
        this.write(this.#window(this.#consumed));
        this.#consumed = 0;
      }
    }
    if (type === SETTINGS && (flags & ACK) === 0) return this.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    if (type === PING && (flags & ACK) === 0) return this.write(frame(PING, ACK, 0, payload));
    if (type === GOAWAY) return this.#sink.broken(new Error("the server sent GOAWAY"));
    if (stream !== 0) this.#sink.frame(type, flags, stream, payload);
  }
}

interface OpenCall {
  resolve(body: Buffer): void;
  reject(error: Error): void;
  body: Buffer | undefined;
}

/** A gRPC connection with any number of unary calls at once. */
export async function openHttp2(call: Http2Call): Promise<Connection> {
  const blocks = headerBlocks(call);
  const bodies = new Numbered(Buffer.from(call.body, "base64"), call);
  const expect = Buffer.from(call.expect);
  const open = new Map<number, OpenCall>();
  let next = 1;
  const end = (id: number, pending: OpenCall): void => {
    open.delete(id);
    if (pending.body?.includes(expect)) pending.resolve(pending.body);
    else pending.reject(unexpected(NOT_OK, pending.body ?? Buffer.alloc(0)));
  };
  const socket = new Http2Socket(await openSocket(call.port), {
    frame: (type, flags, id, payload) => {
      const pending = open.get(id);
      if (pending === undefined) return;
      if (type === DATA) pending.body = pending.body === undefined ? payload : Buffer.concat([pending.body, payload]);
      if (type === RST_STREAM) pending.reject(new Error("the server reset the call"));
      else if ((type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0) end(id, pending);
    },
    broken: (error) => {
      for (const pending of open.values()) pending.reject(error);
    },
  });
  return {
    exchange: () =>
      new Promise((resolve, reject) => {
        const id = next;
        next += 2;
        open.set(id, { resolve, reject, body: undefined });
        const headers = frame(HEADERS, END_HEADERS, id, id === 1 ? blocks.first : blocks.later);
        socket.write(Buffer.concat([headers, frame(DATA, END_STREAM, id, bodies.next())]));
      }),
    close: () => socket.close(),
  };
}

/** Counts gRPC messages by their prefixes, wherever the frames cut them. */
export class MessageCounter {
  #header: Buffer = Buffer.alloc(0);
  #left = 0;

  count(bytes: Buffer): number {
    let messages = 0;
    let at = 0;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const used = Math.min(this.#left, bytes.length - at);
        this.#left -= used;
        at += used;
        continue;
      }
      const missing = 5 - this.#header.length;
      this.#header = Buffer.concat([this.#header, bytes.subarray(at, at + missing)]);
      at += missing;
      if (this.#header.length < 5) break;
      this.#left = this.#header.readUInt32BE(1);
      this.#header = Buffer.alloc(0);
      messages++;
    }
    return messages;
  }
}

/** Sends a server-streaming gRPC call over a connection of its own. */
export async function openGrpcStream(call: Http2Call, sink: StreamSink): Promise<OpenStream> {
  const counter = new MessageCounter();
  const expect = Buffer.from(call.expect);
  let last: Buffer = Buffer.alloc(0);
  let isOver = false;
  const over = (error?: Error): void => {
    if (isOver) return;
    isOver = true;
    socket.close();
    sink.over(error);
  };
  const socket = new Http2Socket(await openSocket(call.port), {
    frame: (type, flags, _, payload) => {
      if (type === DATA && payload.length > 0) {
        last = Buffer.from(payload);
        sink.arrived(counter.count(payload), payload.length);
      }
      if (type === RST_STREAM) over(new Error("the server reset the call"));
      else if (type === HEADERS && (flags & END_STREAM) !== 0) {
        over(last.includes(expect) ? undefined : unexpected(NOT_OK, last));
      }
    },
    broken: over,
  });
  const body = new Numbered(Buffer.from(call.body, "base64"), call).next();
  socket.write(
    Buffer.concat([frame(HEADERS, END_HEADERS, 1, headerBlocks(call).first), frame(DATA, END_STREAM, 1, body)]),
  );
  return {
    stall: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => {
      isOver = true;
      socket.close();
    },
  };
}
