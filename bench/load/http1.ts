import { connect, type Socket } from "node:net";
import type { WireCall } from "../protocol.js";
import { ResponseReader } from "./http-response.js";
import { type Connection, Numbered, type OpenStream, type StreamSink, unexpected } from "./request.js";

type Http1Call = WireCall & { transport: "http1" };

/** Opens a socket; whoever wants its errors listens for them. */
export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}

interface Waiting {
  resolve(body: Buffer): void;
  reject(error: Error): void;
}

/** A connection that is kept alive. Calls that are under way at once are pipelined (RFC 9112, 9.3.2). */
export async function openHttp1(call: Http1Call): Promise<Connection> {
  const socket = await openSocket(call.port);
  const requests = new Numbered(Buffer.from(call.request, "base64"), call);
  const expect = Buffer.from(call.expect);
  const waiting: Waiting[] = [];
  const reject = (error: Error): void => {
    for (const call of waiting.splice(0)) call.reject(error);
  };
  let body: Buffer[] = [];
  const reader = new ResponseReader({
    body: (bytes) => void body.push(bytes),
    end: () => {
      const [only, ...more] = body;
      const whole = only !== undefined && more.length === 0 ? only : Buffer.concat(body);
      body = [];
      if (reader.status === "200" && whole.includes(expect)) waiting.shift()?.resolve(whole);
      else reject(unexpected(reader.status, whole));
    },
  });
  socket.on("data", (chunk) => reader.push(chunk));
  socket.on("error", reject);
  socket.on("close", () => reject(new Error("the server closed the connection")));
  return {
    exchange: () =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        socket.write(requests.next());
      }),
    close: () => {
      waiting.length = 0;
      socket.destroy();
    },
  };
}

const DATA_LINE = Buffer.from("\ndata:");

/** Counts the events of an SSE stream by their `data:` lines, which begin a line and may lie across two pieces. */
export class EventCounter {
  #tail: Buffer = Buffer.from("\n");

  count(bytes: Buffer): number {
    const text = Buffer.concat([this.#tail, bytes]);
    let events = 0;
    for (let at = text.indexOf(DATA_LINE); at >= 0; at = text.indexOf(DATA_LINE, at + DATA_LINE.length)) events++;
    // The tail is one byte shorter than the searched text, so that no event is counted twice.
    this.#tail = Buffer.from(text.subarray(-(DATA_LINE.length - 1)));
    return events;
  }
}

/** Sends a streaming call over a connection of its own. */
export async function openSse(call: Http1Call, sink: StreamSink): Promise<OpenStream> {
  const socket = await openSocket(call.port);
  const counter = new EventCounter();
  const expect = Buffer.from(call.expect);
  let last: Buffer = Buffer.alloc(0);
  let isOver = false;
  const over = (error?: Error): void => {
    if (isOver) return;
    isOver = true;
    socket.destroy();
    sink.over(error);
  };
  const reader = new ResponseReader({
    body: (bytes) => {
      last = bytes.length >= 4096 ? bytes : Buffer.concat([last.subarray(-4096), bytes]);
      sink.arrived(counter.count(bytes), bytes.length);
    },
    end: () => over(reader.status === "200" && last.includes(expect) ? undefined : unexpected(reader.status, last)),
  });
  socket.on("data", (chunk) => reader.push(chunk));
  socket.on("error", over);
  socket.on("close", () => over(new Error("the server closed the connection")));
  socket.write(new Numbered(Buffer.from(call.request, "base64"), call).next());
  return {
    stall: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => {
      isOver = true;
      socket.destroy();
    },
  };
}
