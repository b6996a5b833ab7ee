import { EventEmitter } from "node:events";
import { connect, type Socket } from "node:net";
import { FrameReader, frameOf } from "./frames.js";
import type { FromWriter } from "./write.js";
import { CLOSE, type ToWriter } from "./write-codec.js";
import type { WriterHandle } from "./writer-client.js";
import type { Hello } from "./writer-protocol.js";

/**
 * Maximum size of bulk writes in flight, in bytes. Others wait here, so that small writes do not queue behind them in
 * the connection.
 */
const MOST_BULK_BYTES = 2 * 1024 * 1024;

/** Delay before another attempt to connect, in milliseconds: the process is being started. */
const RETRY_MS = 20;

/** The address of a writer process, and the first message to it. */
export interface WriterPlace {
  /** Path of a socket. */
  readonly address: string;
  readonly hello: Hello;
}

/**
 * A writer in another process, reached over a connection. It waits for a process that is still starting. A lost
 * connection counts as its exit: the outcome of the writes in flight is unknown.
 */
export class WriterLink extends EventEmitter implements WriterHandle {
  readonly #place: WriterPlace;
  #socket: Socket;
  #isConnected = false;
  /** Messages that wait for the connection. */
  readonly #unsent: ToWriter[] = [];
  /** Messages that wait for answers to earlier ones: bulk messages, and all messages after the client has closed. */
  readonly #held: ToWriter[] = [];
  /** Bytes of the bulk messages without an answer. */
  readonly #bulk: number[] = [];
  #bulkBytes = 0;
  #isRef = true;
  #retry: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(place: WriterPlace) {
    super();
    this.#place = place;
    this.#socket = this.#connect();
  }

  postMessage(message: ToWriter): void {
    const isBulk = typeof message === "object" && message.bulk === true;
    if ((isBulk && this.#bulkBytes > MOST_BULK_BYTES) || (this.#held.length > 0 && (isBulk || message === CLOSE))) {
      this.#held.push(message);
    } else if (this.#isConnected) this.#send(message);
    else if (message === CLOSE && this.#unsent.length === 0) this.#end();
    else this.#unsent.push(message);
  }

  ref(): void {
    this.#isRef = true;
    this.#socket.ref();
    this.#retry?.ref();
  }

  unref(): void {
    this.#isRef = false;
    this.#socket.unref();
    this.#retry?.unref();
  }

  terminate(): void {
    this.#socket.destroy();
  }

  #connect(): Socket {
    const { address, hello } = this.#place;
    const socket = connect(address);
    if (!this.#isRef) socket.unref();
    const frames = new FrameReader((message) => this.#hear(message as FromWriter));
    socket.on("connect", () => {
      this.#isConnected = true;
      for (const part of frameOf(hello)) socket.write(part);
      for (const message of this.#unsent.splice(0)) this.postMessage(message);
    });
    socket.on("data", (chunk) => {
      try {
        frames.push(chunk);
      } catch (cause) {
        this.emit("messageerror", cause);
      }
    });
    socket.on("error", () => {});
    socket.on("close", () => (this.#isConnected ? this.#end() : this.#again()));
    return socket;
  }

  #again(): void {
    if (this.#isOver) return;
    this.#retry = setTimeout(() => {
      this.#socket = this.#connect();
    }, RETRY_MS);
    if (!this.#isRef) this.#retry.unref();
  }

  #send(message: ToWriter): void {
    if (typeof message === "object" && message.bulk === true) {
      this.#bulk.push(message.size);
      this.#bulkBytes += message.size;
    }
    const parts = frameOf(message);
    if (parts.length > 1) this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    if (parts.length > 1) this.#socket.uncork();
  }

  #hear(message: FromWriter): void {
    if ("count" in message && message.bulk === true) {
      this.#bulkBytes -= this.#bulk.shift() ?? 0;
      while (this.#held.length > 0 && this.#bulkBytes <= MOST_BULK_BYTES) this.#send(this.#held.shift() as ToWriter);
    }
    this.emit("message", message);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#retry);
    this.#socket.destroy();
    setImmediate(() => this.emit("exit"));
  }
}
