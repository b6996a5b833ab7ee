import type { Message } from "@bufbuild/protobuf";
import { BinaryReader, type WireType } from "@bufbuild/protobuf/wire";
import { decodeUtf8 } from "../core/bytes.js";

/** Number of low bits of a tag that hold the wire type. */
const TYPE_BITS = 3;
/** Greatest wire type, and least tag: field 1 of wire type 0. */
const MAX_TYPE = 5;
const MIN_TAG = 1 << TYPE_BITS;

/** Bytes of a varint whose value is a safe integer. */
const SAFE_BYTES = 7;

/** Thrown for a message that is nested too deep. */
export class TooDeep extends Error {
  override name = "TooDeep";
}

/**
 * The bytes of a message while they are read. What occurs in most messages is read here, and everything else by
 * `BinaryReader` of protobuf-es. Both accept the same bytes, including those that no writer makes.
 */
export class BinaryInput {
  readonly #bytes: Uint8Array;
  readonly #levels: number;
  #reader: BinaryReader | undefined;
  #depth = 0;
  /** Index of the next byte. */
  at = 0;

  /** @param levels the most levels of messages */
  constructor(bytes: Uint8Array, levels: number) {
    this.#bytes = bytes;
    this.#levels = levels;
  }

  /** Begins a message of the message that is read. @throws TooDeep */
  enter(): void {
    if (++this.#depth > this.#levels) throw new TooDeep(`the message has more than ${this.#levels} levels`);
  }

  leave(): void {
    this.#depth--;
  }

  /** Reads the number and the wire type of a field. */
  tag(): number {
    const first = this.#bytes[this.at] as number;
    if (first < 0x80 && first >= MIN_TAG && (first & 7) <= MAX_TYPE) {
      this.at++;
      return first;
    }
    return this.#other(longTag);
  }

  uint32(): number {
    const bytes = this.#bytes;
    const first = bytes[this.at] as number;
    if (first < 0x80) {
      this.at++;
      return first;
    }
    const second = bytes[this.at + 1] as number;
    if (second < 0x80) {
      this.at += 2;
      return (first & 0x7f) | (second << 7);
    }
    return this.#other(longUint32);
  }

  int64(): bigint | string {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < SAFE_BYTES; i++) {
      const byte = this.#bytes[this.at + i] as number;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.at += i + 1;
        return BigInt(value);
      }
      scale *= 0x80;
    }
    return this.#other(longInt64);
  }

  bool(): boolean {
    const byte = this.#bytes[this.at] as number;
    if (byte >= 0x80 || byte === undefined) return this.#other(longBool);
    this.at++;
    return byte !== 0;
  }

  /** Reads a text with its length. @throws if it is not UTF-8 */
  text(): string {
    const length = this.uint32();
    const start = this.at;
    const end = start + length;
    if (end > this.#bytes.length) throw new RangeError("the message ends inside of a text");
    this.at = end;
    return decodeUtf8(this.#bytes, start, end);
  }

  bytes(): Uint8Array {
    return this.#other(longBytes);
  }

  double(): number {
    return this.#other(longDouble);
  }

  /** Skips a field after its tag. Returns its bytes. */
  skip(tag: number): Uint8Array {
    return this.#other((reader) => reader.skip(tag & 7, tag >>> TYPE_BITS, this.#levels - this.#depth));
  }

  /** Reads by the library. */
  #other<T>(read: (reader: BinaryReader) => T): T {
    this.#reader ??= new BinaryReader(this.#bytes);
    this.#reader.pos = this.at;
    const value = read(this.#reader);
    this.at = this.#reader.pos;
    return value;
  }
}

/** The parts of a tag. */
export const fieldNumber = (tag: number): number => tag >>> TYPE_BITS;
export const wireTypeOf = (tag: number): WireType => tag & 7;

/** Keeps a field that a message's type does not have, after its tag. */
export function keepUnknown(message: Message, input: BinaryInput, tag: number): void {
  const data = input.skip(tag);
  message.$unknown ??= [];
  message.$unknown.push({ no: fieldNumber(tag), wireType: wireTypeOf(tag), data });
}

function longTag(reader: BinaryReader): number {
  const [number, wireType] = reader.tag();
  return ((number << TYPE_BITS) | wireType) >>> 0;
}

const longUint32 = (reader: BinaryReader): number => reader.uint32();
const longInt64 = (reader: BinaryReader): bigint | string => reader.int64();
const longBool = (reader: BinaryReader): boolean => reader.bool();
const longBytes = (reader: BinaryReader): Uint8Array => reader.bytes();
const longDouble = (reader: BinaryReader): number => reader.double();
