import type { Socket } from "node:net";
import { FrameReader, frameOf } from "./frames.js";
import type { FromWriter } from "./write.js";
import type { ToWriter } from "./write-codec.js";
import type { WriterPort } from "./writer.js";
import type { Hello } from "./writer-protocol.js";

/** Bytes of a client's writes that wait, and of answers that it has not read, above which nothing more is read of it. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Parts of a connection. */
interface ConnectionParts {
  /** Checks what a client says first. Returns the reason why it cannot be served. */
  readonly refusalOf: (hello: Hello) => FromWriter | undefined;
  /** The client may write from now on. */
  readonly onOpen: (port: WriterPort) => void;
  /** A message has arrived. */
  readonly onMessage: () => void;
  readonly onClose: (port: WriterPort) => void;
}

/** A client of the writer in another process. One that does not read its answers is not read any more. */
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
        // It has the same code, so it is no client.
        socket.destroy();
      }
      this.#pace();
    });
    socket.on("drain", () => this.#pace());
    // A client that was killed: its end follows.
    socket.on("error", () => {});
    socket.on("close", () => parts.onClose(this));
  }

  /** True if messages of it wait. */
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
