import { A2AError, StatusCode } from "../../core/error.js";
import { Pieces } from "../../http/body.js";
import { PREFIX_BYTES } from "../../wire/binary-output.js";
import { Refusal } from "./internal-service.js";

/** A received message. */
export interface Envelope {
  readonly isCompressed: boolean;
  readonly bytes: Buffer;
}

/** Returns true if a chunk of a body is exactly one uncompressed message, as most requests are. */
export function isOneMessage(piece: Buffer, maxBytes: number): boolean {
  const length = piece.length - PREFIX_BYTES;
  return length >= 0 && length <= maxBytes && piece[0] === 0 && piece.readUInt32BE(1) === length;
}

/** Reads the messages of a body that arrives in chunks. It buffers at most one incomplete message. */
export class EnvelopeReader {
  readonly #maxBytes: number;
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  /** Number of bytes of the prefix received so far. */
  #prefixed = 0;
  #pieces = new Pieces();
  /** Number of bytes missing from the message; valid once its prefix is complete. */
  #missing = 0;

  /** @param maxBytes maximum size of a message, before and after decompression */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True while a message is incomplete. */
  get isInside(): boolean {
    return this.#prefixed > 0;
  }

  /**
   * Reads a chunk and returns the messages that end in it.
   *
   * @throws A2AError as soon as a prefix announces a message that is too large, and Refusal for an unknown flag; the
   * reader must not be used afterwards
   */
  read(piece: Buffer): Envelope[] {
    const whole: Envelope[] = [];
    let at = 0;
    for (;;) {
      if (this.#prefixed < PREFIX_BYTES) {
        const copied = piece.copy(this.#prefix, this.#prefixed, at, at + PREFIX_BYTES - this.#prefixed);
        this.#prefixed += copied;
        at += copied;
        if (this.#prefixed < PREFIX_BYTES) return whole;
        this.#missing = this.#begin();
      }
      const taken = Math.min(this.#missing, piece.length - at);
      if (taken > 0) this.#pieces.add(piece.subarray(at, at + taken));
      at += taken;
      this.#missing -= taken;
      if (this.#missing > 0) return whole;
      whole.push({ isCompressed: this.#prefix[0] === 1, bytes: joined(this.#pieces.all()) });
      this.#pieces = new Pieces();
      this.#prefixed = 0;
    }
  }

  /** Checks a prefix and returns its length. */
  #begin(): number {
    const flag = this.#prefix[0] ?? 0;
    if (flag > 1)
      throw new Refusal(StatusCode.INVALID_ARGUMENT, `The flag of a message is ${flag}; there are 0 and 1.`);
    const length = this.#prefix.readUInt32BE(1);
    if (length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    return length;
  }
}

/** The error for a message above the limit, in bytes. */
export function tooLarge(maxBytes: number): A2AError {
  const message = `The message is larger than ${maxBytes} bytes.`;
  return new A2AError("REQUEST_TOO_LARGE", message, { metadata: { limit: "maxRequestBytes" } });
}

function joined(pieces: Uint8Array[]): Buffer {
  const [first] = pieces;
  return pieces.length === 1 && Buffer.isBuffer(first) ? first : Buffer.concat(pieces);
}
