import { Gathered } from "../../core/gathered.js";
import { badAnswer } from "../answer-errors.js";

/** One envelope of Connect's streams, gRPC-Web and gRPC: flags, and as many bytes as its head says. */
export interface Frame {
  readonly flags: number;
  readonly data: Uint8Array;
}

/** The flags and the length before each message, in bytes. */
const HEAD = 5;

/** Takes bytes wherever they were cut, and gives envelopes. */
export class Frames {
  readonly #maxBytes: number;
  readonly #gathered = new Gathered();
  /** Bytes that the next envelope takes, its head included, as far as that is known. */
  #need = HEAD;

  /** @param maxBytes the largest message */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(bytes: Uint8Array): void {
    this.#gathered.push(bytes);
  }

  /** Whether an envelope has begun that is not complete. */
  get isCut(): boolean {
    return this.#gathered.size > 0;
  }

  /** The next one, as soon as it is complete. @throws A2AError for one that is too large */
  take(): Frame | undefined {
    if (this.#gathered.size < this.#need) return undefined;
    const { bytes } = this.#gathered;
    const length =
      ((bytes[1] as number) << 24) | ((bytes[2] as number) << 16) | ((bytes[3] as number) << 8) | (bytes[4] as number);
    const size = length >>> 0;
    if (size > this.#maxBytes)
      throw badAnswer(`A message of the answer has ${size} bytes, more than ${this.#maxBytes}.`);
    this.#need = HEAD + size;
    if (bytes.byteLength < this.#need) return undefined;
    const frame = { flags: bytes[0] as number, data: bytes.subarray(HEAD, this.#need) };
    this.#gathered.drop(this.#need);
    this.#need = HEAD;
    return frame;
  }
}
