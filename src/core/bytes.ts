import { defined } from "./members.js";

/**
 * Fast operations on bytes and text. They use Node's Buffer if the runtime has it, which is several times as fast for
 * short texts, and otherwise web APIs. The choice is made when this module is loaded. Callers see Uint8Arrays only: no
 * other file of `core/` and `wire/` uses Buffer.
 */
interface ByteWork {
  /** New uninitialized bytes in a buffer of their own. */
  readonly allocate: (size: number) => Uint8Array<ArrayBuffer>;
  /** A copy of the first bytes of an array from `allocate`. A short copy may share its buffer with other arrays. */
  readonly copyOf: (bytes: Uint8Array<ArrayBuffer>, size: number) => Uint8Array<ArrayBuffer>;
  /** All parts in one array. */
  readonly concat: (parts: readonly Uint8Array[]) => Uint8Array<ArrayBuffer>;
  /** Number of UTF-8 bytes of a text. A lone surrogate counts as the replacement character. */
  readonly utf8LengthOf: (text: string) => number;
  /** The text in UTF-8. */
  readonly utf8Of: (text: string) => Uint8Array<ArrayBuffer>;
  /** Writes the text into an array from `allocate` that has room for all of it. Returns the number of bytes written. */
  readonly writeUtf8: (text: string, bytes: Uint8Array<ArrayBuffer>, at: number) => number;
  /** Padded base64. */
  readonly base64Of: (bytes: Uint8Array) => string;
  /** Decodes well-formed base64 of either alphabet, padded or not, into a buffer of its own. */
  readonly fromBase64: (text: string) => Uint8Array<ArrayBuffer>;
  /** Lower-case hexadecimal. */
  readonly hexOf: (bytes: Uint8Array) => string;
}

function byBuffer(node: typeof Buffer): ByteWork {
  const view = (bytes: Uint8Array): Buffer => node.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    allocate: (size) => node.allocUnsafeSlow(size),
    copyOf: (bytes, size) => {
      const copy = node.allocUnsafe(size);
      (bytes as Buffer).copy(copy, 0, 0, size);
      return copy;
    },
    concat: (parts) => node.concat(parts),
    utf8LengthOf: (text) => node.byteLength(text),
    utf8Of: (text) => node.from(text),
    writeUtf8: (text, bytes, at) => (bytes as Buffer).write(text, at),
    base64Of: (bytes) => view(bytes).toString("base64"),
    // A copy, because small buffers are slices of a pool, and the whole pool would be transferred with them to a
    // worker.
    fromBase64: (text) => new Uint8Array(node.from(text, "base64")),
    hexOf: (bytes) => view(bytes).toString("hex"),
  };
}

/** Bytes converted per call of `fromCharCode`; engines limit the number of arguments. */
const CHARACTERS = 8 * 1024;

function byPlatform(): ByteWork {
  const encoder = new TextEncoder();
  return {
    allocate: (size) => new Uint8Array(size),
    copyOf: (bytes, size) => bytes.slice(0, size),
    concat: (parts) => {
      const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
      return whole;
    },
    utf8LengthOf: countUtf8,
    utf8Of: (text) => encoder.encode(text),
    writeUtf8: (text, bytes, at) => encoder.encodeInto(text, bytes.subarray(at)).written,
    base64Of: (bytes) => {
      let binary = "";
      for (let at = 0; at < bytes.length; at += CHARACTERS) {
        binary += String.fromCharCode(...bytes.subarray(at, at + CHARACTERS));
      }
      return btoa(binary);
    },
    fromBase64: (text) => {
      const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
      return Uint8Array.from(binary, (character) => character.charCodeAt(0));
    },
    hexOf: (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""),
  };
}

function countUtf8(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = defined(text.codePointAt(i));
    if (code > 0x7f) length++;
    if (code > 0x7ff) length++;
    // A surrogate pair is two units of UTF-16 and four bytes of UTF-8.
    if (code > 0xffff) i++;
  }
  return length;
}

const known: ByteWork = typeof Buffer === "undefined" ? byPlatform() : byBuffer(Buffer);

export const allocate: ByteWork["allocate"] = known.allocate;
export const copyOf: ByteWork["copyOf"] = known.copyOf;
export const concat: ByteWork["concat"] = known.concat;
export const utf8LengthOf: ByteWork["utf8LengthOf"] = known.utf8LengthOf;
export const utf8Of: ByteWork["utf8Of"] = known.utf8Of;
export const writeUtf8: ByteWork["writeUtf8"] = known.writeUtf8;
export const base64Of: ByteWork["base64Of"] = known.base64Of;
export const fromBase64: ByteWork["fromBase64"] = known.fromBase64;
export const hexOf: ByteWork["hexOf"] = known.hexOf;

type Utf8Decoder = (bytes: Uint8Array, start: number, end: number) => string;

/**
 * The text of a part of some bytes in UTF-8, in which U+FEFF is a character like any other.
 *
 * @throws if it is not UTF-8
 */
export const decodeUtf8: Utf8Decoder = /* @__PURE__ */ strictDecoder();

function strictDecoder(): Utf8Decoder {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode: Utf8Decoder = (bytes, start, end) => decoder.decode(bytes.subarray(start, end));
  if (typeof Buffer === "undefined") return decode;
  const { utf8Slice } = Buffer.prototype;
  return (bytes, start, end) => {
    // Buffer replaces invalid UTF-8 by U+FFFD. The decoder then throws, unless the text has this character itself.
    const text = utf8Slice.call(bytes, start, end);
    return text.includes("\ufffd") ? decode(bytes, start, end) : text;
  };
}

/** Minimum size of the buffer that pieces are copied into, in bytes. */
const LEAST = 1024;

const empty = new Uint8Array(0);

/**
 * A buffer that joins pieces of bytes. A single piece is kept as it is. Several are copied together, because an object
 * for each small piece takes a hundred times the memory.
 */
export class Gathered {
  #bytes: Uint8Array = empty;
  #begin = 0;
  #end = 0;
  /** True if `#bytes` is a copy, which has room for more pieces. */
  #isCopy = false;

  get size(): number {
    return this.#end - this.#begin;
  }

  push(piece: Uint8Array): void {
    if (piece.byteLength === 0) return;
    if (this.size === 0) {
      this.#bytes = piece;
      this.#begin = 0;
      this.#end = piece.byteLength;
      this.#isCopy = false;
      return;
    }
    const end = this.#end + piece.byteLength;
    if (!this.#isCopy || end > this.#bytes.byteLength) this.#grow(this.size + piece.byteLength);
    // Views that were returned earlier keep their bytes, because the piece is written after them.
    this.#bytes.set(piece, this.#end);
    this.#end += piece.byteLength;
  }

  /** All bytes that are buffered. */
  get bytes(): Uint8Array {
    return this.size === this.#bytes.byteLength ? this.#bytes : this.#bytes.subarray(this.#begin, this.#end);
  }

  /** Removes the first `count` bytes. */
  drop(count: number): void {
    this.#begin += count;
    if (this.size === 0) this.clear();
  }

  clear(): void {
    this.#bytes = empty;
    this.#begin = this.#end = 0;
  }

  #grow(size: number): void {
    // Not a Buffer, because messages keep views of it as their fields of bytes.
    const larger = new Uint8Array(Math.max(LEAST, 2 * size));
    larger.set(this.bytes);
    this.#end = this.size;
    this.#begin = 0;
    this.#bytes = larger;
    this.#isCopy = true;
  }
}
