import type { Socket } from "node:net";
import { FrameReader, frameOf } from "./frames.js";
import type { FromWriter } from "./write.js";
import type { ToWriter } from "./write-codec.js";
import type { WriterPort } from "./writer.js";
import type { Hello } from "./writer-protocol.js";

/** Maximum size of a client's queued writes and unread answers, in bytes. Above it, the port stops reading. */
const MOST_BYTES = 8 * 1024 * 1024;

interface ConnectionParts {
  /** Checks the first message of a client. Returns the reason for a refusal. */
  readonly refusalOf: (hello: Hello) => FromWriter | undefined;
  /** Called when the client may start to write. */
  readonly onOpen: (port: WriterPort) => void;
  /** Called when a message has arrived. */
  readonly onMessage: () => void;
  readonly onClose: (port: WriterPort) => void;
}

/** A client of the writer in another process. The port stops reading from a client that does not read its answers. */
export class SocketPort implements WriterPort {
  readonly #socket: Socket;
  readonly #parts: ConnectionParts;
  readonly #queue: ToWriter[] = [];
  #waiting = 0;
  #isOpen = false;
  #answered = Number.NEGATIVE_INFINITY;

  constructor(socket: Socket, parts: ConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    const frames = new FrameReader((message) => this.#hear(message as Hello | ToWriter));
    socket.on("data", (chunk) => {
      try {
        frames.push(chunk);
      } catch {
        // Clients run the same code, so this is not a client.
        socket.destroy();
      }
      this.#pace();
    });
    socket.on("drain", () => this.#pace());
    // The client was killed. The event `close` follows.
    socket.on("error", () => {});
    socket.on("close", () => parts.onClose(this));
  }

  /** True if messages of this client wait. */
  get hasSent(): boolean {
    return this.#queue.length > 0;
  }

  /** Time of its last answer, by `performance.now()`. */
  get answered(): number {
    return this.#answered;
  }

  take(): ToWriter | undefined {
    const next = this.#queue.shift();
    if (next === undefined) return undefined;
    this.#waiting -= sizeOf(next);
    this.#pace();
    return next;
  }

  post(message: FromWriter): void {
    this.#answered = performance.now();
    for (const part of frameOf(message)) this.#socket.write(part);
  }

  end(): void {
    this.#socket.end();
  }

  #hear(message: Hello | ToWriter): void {
    if (typeof message === "object" && "version" in message) {
      const refusal = this.#parts.refusalOf(message);
      if (refusal === undefined) {
        this.#isOpen = true;
        this.#parts.onOpen(this);
      } else this.post(refusal);
    } else if (this.#isOpen) {
      this.#queue.push(message);
      this.#waiting += sizeOf(message);
      this.#parts.onMessage();
    }
  }

  #pace(): void {
    const isFull = this.#waiting + this.#socket.writableLength > MOST_BYTES;
    if (isFull !== this.#socket.isPaused()) this.#socket[isFull ? "pause" : "resume"]();
  }
}

function sizeOf(message: ToWriter): number {
  return typeof message === "string" ? 0 : message.size;
}
