import { NUMBER, type WireCall } from "../protocol.js";

let counter = 0;

/** Puts a number into each copy of a request. */
export class Numbered {
  readonly #template: Buffer;
  readonly #at: number;
  readonly #below: number | undefined;

  constructor(template: Buffer, call: WireCall) {
    this.#template = template;
    this.#at = template.indexOf(NUMBER);
    this.#below = call.numbersBelow;
  }

  /** The bytes of the next call, the caller's own. */
  next(): Buffer {
    const bytes = Buffer.from(this.#template);
    if (this.#at >= 0) {
      const number = this.#below === undefined ? counter++ : Math.floor(Math.random() * this.#below);
      bytes.write(String(number).padStart(NUMBER.length, "0"), this.#at, "latin1");
    }
    return bytes;
  }
}

/** Many calls over one connection, one after the other or, where the transport can, at once. */
export interface Connection {
  /** Sends one call and resolves with the body of its answer when that is complete and what was expected. */
  exchange(): Promise<Buffer>;
  close(): void;
}

/** Receives the progress of one stream. */
export interface StreamSink {
  /** So many events began in what just arrived, which was so many bytes of body. */
  arrived(events: number, bytes: number): void;
  /** The stream is over; an error when it was cut or is not what was expected. */
  over(error?: Error): void;
}

/** A stream under way. */
export interface OpenStream {
  /** Stops reading; what the server sends stays in the buffers between. */
  stall(): void;
  /** Reads on. */
  resume(): void;
  close(): void;
}

/** An answer that is not what was expected. */
export function unexpected(status: string, body: Buffer): Error {
  return new Error(`unexpected answer, status ${status}: ${body.toString("latin1", 0, 300)}`);
}
