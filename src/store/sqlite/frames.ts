import { deserialize, serialize } from "node:v8";
import type { FromWriter } from "./write.js";
import type { Message, ToWriter } from "./write-codec.js";
import type { Hello } from "./writer-protocol.js";

// Messages between a process and the one that writes for it, as bytes on a connection. A frame consists of its length,
// its kind and its content: any value, or writes followed by their bytes, unchanged.

/** Bytes of the length, which does not count itself. */
const LENGTH_BYTES = 4;

/** Bytes of a frame of writes before their fields: its kind, the number of writes, and the size of the fields. */
const HEAD_BYTES = 9;

const VALUE = 0;
const WRITES = 1;
const BULK = 2;

/** Bytes of a frame above which it is refused. No write is as large. */
const MOST_BYTES = 2 ** 30;

/** Maximum size of a frame whose parts are joined for one system call, in bytes. */
const JOINED_BYTES = 64 * 1024;

export function frameOf(message: Hello | ToWriter | FromWriter): readonly Uint8Array[] {
  if (typeof message === "string" || !("fields" in message)) return [valueFrame(message)];
  const { count, fields, bytes, size, bulk } = message;
  const packed = serialize(fields);
  const head = Buffer.allocUnsafe(LENGTH_BYTES + HEAD_BYTES);
  head.writeUInt32LE(HEAD_BYTES + packed.length + size, 0);
  head.writeUInt8(bulk === true ? BULK : WRITES, 4);
  head.writeUInt32LE(count, 5);
  head.writeUInt32LE(packed.length, 9);
  const parts = [head, packed, new Uint8Array(bytes, 0, size)];
  return size > JOINED_BYTES ? parts : [Buffer.concat(parts)];
}

function valueFrame(value: unknown): Buffer {
  const packed = serialize(value);
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + 1 + packed.length);
  frame.writeUInt32LE(1 + packed.length, 0);
  frame.writeUInt8(VALUE, 4);
  frame.set(packed, 5);
  return frame;
}

function messageIn(frame: Buffer): unknown {
  const kind = frame.readUInt8(0);
  if (kind === VALUE) return deserialize(frame.subarray(1));
  const count = frame.readUInt32LE(1);
  const end = HEAD_BYTES + frame.readUInt32LE(5);
  const fields = deserialize(frame.subarray(HEAD_BYTES, end)) as Message["fields"];
  // Chunks that are read from a connection have memory of their own.
  const bytes = frame.buffer as ArrayBuffer;
  const message: Message = { count, fields, bytes, start: frame.byteOffset + end, size: frame.length - end };
  if (kind === BULK) message.bulk = true;
  return message;
}

/** Finds messages in the bytes of a connection. */
export class FrameReader {
  readonly #hear: (message: unknown) => void;
  readonly #length = Buffer.alloc(LENGTH_BYTES);
  /** Received bytes of the next length. */
  #known = 0;
  /** The frame that has arrived in part. */
  #frame: Buffer | undefined;
  #filled = 0;

  /** @param hear called with each message */
  constructor(hear: (message: unknown) => void) {
    this.#hear = hear;
  }

  /** Takes the next bytes. @throws an error for bytes that are not frames */
  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      at += this.#frame === undefined ? this.#begin(chunk, at) : this.#fill(chunk, at);
    }
  }

  /** Reads a length, and the frame, if it has arrived completely. Returns the number of bytes used. */
  #begin(chunk: Buffer, at: number): number {
    const used = chunk.copy(this.#length, this.#known, at);
    this.#known += used;
    if (this.#known < LENGTH_BYTES) return used;
    this.#known = 0;
    const size = this.#length.readUInt32LE(0);
    if (size === 0 || size > MOST_BYTES) throw new Error(`A frame of ${size} bytes was received.`);
    const begin = at + used;
    if (chunk.length - begin < size) {
      this.#frame = Buffer.allocUnsafeSlow(size);
      this.#filled = 0;
      return used;
    }
    this.#hear(messageIn(chunk.subarray(begin, begin + size)));
    return used + size;
  }

  #fill(chunk: Buffer, at: number): number {
    const frame = this.#frame as Buffer;
    const used = chunk.copy(frame, this.#filled, at);
    this.#filled += used;
    if (this.#filled === frame.length) {
      this.#frame = undefined;
      this.#hear(messageIn(frame));
    }
    return used;
  }
}
