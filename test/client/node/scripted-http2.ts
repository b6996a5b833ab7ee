import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  PING,
  preface,
  RST_STREAM,
  SETTINGS,
} from "../../network/frames.js";
import { atEnd } from "../world.js";

const GOAWAY = 7;
const ACK = 1;

function numbers(...all: number[]): Buffer {
  const bytes = Buffer.alloc(4 * all.length);
  for (const [at, each] of all.entries()) bytes.writeUInt32BE(each, 4 * at);
  return bytes;
}

/** SETTINGS with the maximum number of concurrent streams. */
export const mostStreams = (most: number): Buffer =>
  frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 3]), numbers(most)]));
export const goaway = (lastStream: number, code: number): Buffer => frame(GOAWAY, 0, 0, numbers(lastStream, code));
export const reset = (stream: number, code: number): Buffer => frame(RST_STREAM, 0, stream, numbers(code));
/** The headers of an answer with status 200. */
export const headers = (stream: number): Buffer => frame(HEADERS, END_HEADERS, stream, Buffer.from([0x88]));
/** A complete answer with status 200. */
export const answer = (stream: number, text = "here"): Buffer =>
  Buffer.concat([headers(stream), frame(DATA, END_STREAM, stream, Buffer.from(text))]);

/** A request as the server sees it on arrival. */
export interface Come {
  readonly stream: number;
  /** Number of its connection, from 1. */
  readonly connection: number;
  /** Number of the request over all connections, from 1. */
  readonly nth: number;
  readonly socket: Socket;
}

export interface Scripted {
  readonly origin: string;
  /** Connections accepted so far. */
  readonly sockets: readonly Socket[];
}

/**
 * A server that answers each request with the frames that a script returns. It acknowledges SETTINGS and pings, and
 * never closes a connection.
 *
 * @param pinged called when a ping was answered
 */
export async function scripted(
  does: (come: Come) => readonly Buffer[],
  first: Buffer = frame(SETTINGS, 0, 0),
  pinged: () => void = () => {},
): Promise<Scripted> {
  const sockets: Socket[] = [];
  let nth = 0;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const connection = sockets.push(socket.on("error", () => {}));
    socket.write(first);
    let skip = preface.length;
    let bytes: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length < skip) return;
      bytes = bytes.subarray(skip);
      skip = 0;
      while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
        const end = 9 + bytes.readUIntBE(0, 3);
        const [type, flags, stream] = [bytes[3], Number(bytes[4]), bytes.readUInt32BE(5)];
        const payload = bytes.subarray(9, end);
        bytes = bytes.subarray(end);
        if (type === HEADERS) for (const each of does({ stream, connection, nth: ++nth, socket })) socket.write(each);
        else if (type === SETTINGS && (flags & ACK) === 0) socket.write(frame(SETTINGS, ACK, 0));
        else if (type === PING && (flags & ACK) === 0) {
          socket.write(frame(PING, ACK, 0, payload));
          pinged();
        }
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}
