import { allocate, copyOf, utf8LengthOf, writeUtf8 } from "../core/bytes.js";

/** Initial size of the buffer, and the size beyond which it is reset after a message, in bytes. */
const startBytes = 64 * 1024;
const keptBytes = 1024 * 1024;

/** Bytes before a gRPC message: a compression flag and the length (PROTOCOL-HTTP2, "Length-Prefixed-Message"). */
export const PREFIX_BYTES = 5;

/** Maximum bytes of a varint. */
const varintBytes = 10;

/** Maximum length of texts that are encoded here. While they are ASCII, this costs less than a call into Node. */
const shortText = 64;

/** The format is little-endian, like every machine that runs Node.js. */
const float = new Float64Array(1);
const floatBytes = new Uint8Array(float.buffer);

/** A growing buffer in the protobuf binary format (https://protobuf.dev/programming-guides/encoding). */
export class BinaryOutput {
  #buffer = allocate(startBytes);
  #at = 0;

  /** Returns a copy of the written bytes and clears the output. A short copy shares memory of Node's pool. */
  take(): Uint8Array {
    const bytes = copyOf(this.#buffer, this.#at);
    this.clear();
    return bytes;
  }

  /** Reserves the prefix of a gRPC message, which `takeEnveloped` fills in. */
  beginEnvelope(): void {
    this.#reserve(PREFIX_BYTES);
    this.#at += PREFIX_BYTES;
  }

  /** Returns the bytes since `beginEnvelope`, with flag and length before them. See `take`. */
  takeEnveloped(): Uint8Array {
    const size = this.#at - PREFIX_BYTES;
    const buffer = this.#buffer;
    buffer[0] = 0;
    buffer[1] = size >>> 24;
    buffer[2] = (size >>> 16) & 0xff;
    buffer[3] = (size >>> 8) & 0xff;
    buffer[4] = size & 0xff;
    return this.take();
  }

  clear(): void {
    this.#at = 0;
    if (this.#buffer.length > keptBytes) this.#buffer = allocate(startBytes);
  }

  /** Writes an unsigned 32-bit integer. */
  uint32(value: number): void {
    this.#reserve(varintBytes);
    this.#varint(value);
  }

  /** Writes a 32-bit integer; a negative one takes ten bytes. */
  int32(value: number): void {
    if (value < 0) this.int64(BigInt(value));
    else this.uint32(value);
  }

  /** Writes a 64-bit integer. */
  int64(value: bigint): void {
    this.#reserve(varintBytes);
    let low = Number(BigInt.asUintN(32, value));
    let high = Number(BigInt.asUintN(32, value >> 32n));
    while (high > 0) {
      this.#buffer[this.#at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    this.#varint(low);
  }

  /** Writes a 64-bit floating-point number. */
  double(value: number): void {
    float[0] = value;
    this.raw(floatBytes);
  }

  /** Writes bytes after their length. */
  bytes(value: Uint8Array): void {
    this.#reserve(varintBytes + value.length);
    this.#varint(value.length);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
  }

  /** Writes bytes without a length. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
  }

  /** Writes a text in UTF-8 after its length. A lone surrogate becomes the replacement character. */
  text(value: string): void {
    if (value.length <= shortText && this.#ascii(value)) return;
    const size = utf8LengthOf(value);
    this.#reserve(varintBytes + size);
    this.#varint(size);
    this.#at += writeUtf8(value, this.#buffer, this.#at);
  }

  /** Starts a block whose length precedes it. `end` takes the returned position and writes the length. */
  begin(): number {
    this.#reserve(1);
    return this.#at++;
  }

  end(start: number): void {
    const size = this.#at - start - 1;
    let longer = 0;
    for (let rest = size >>> 7; rest > 0; rest >>>= 7) longer++;
    if (longer > 0) {
      // `begin` reserved one byte for the length, which suffices for most messages.
      this.#reserve(longer);
      this.#buffer.copyWithin(start + 1 + longer, start + 1, this.#at);
    }
    this.#at = start;
    this.#varint(size);
    this.#at += size;
  }

  /** Writes a short text if it is ASCII. */
  #ascii(value: string): boolean {
    this.#reserve(1 + shortText);
    const start = this.#at + 1;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return false;
      this.#buffer[start + i] = code;
    }
    this.#buffer[this.#at] = value.length;
    this.#at = start + value.length;
    return true;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#buffer[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#at++] = rest;
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = allocate(Math.max(this.#buffer.length * 2, needed));
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}
