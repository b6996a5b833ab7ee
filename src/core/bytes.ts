/**
 * What is done with bytes and text where it has to be quick: by Node's Buffer where there is one, which is several times
 * as fast with short texts, and otherwise by what every runtime has. Decided when this module is loaded. Bytes are
 * Uint8Arrays to everybody: no other file of `core/` and `wire/` knows of Buffer.
 */
interface ByteWork {
  /** New bytes with anything in them, in memory of their own. */
  readonly allocate: (size: number) => Uint8Array<ArrayBuffer>;
  /** A copy of the first bytes of what was allocated here. A short one may share memory with others. */
  readonly copyOf: (bytes: Uint8Array<ArrayBuffer>, size: number) => Uint8Array<ArrayBuffer>;
  /** All of them, one behind the other. */
  readonly concat: (parts: readonly Uint8Array[]) => Uint8Array<ArrayBuffer>;
  /** Bytes that a text takes in UTF-8, where half a surrogate pair is the replacement character. */
  readonly utf8LengthOf: (text: string) => number;
  /** A text in UTF-8. */
  readonly utf8Of: (text: string) => Uint8Array<ArrayBuffer>;
  /** Writes it into bytes that were allocated here and have room for all of it; gives how many it took. */
  readonly writeUtf8: (text: string, bytes: Uint8Array<ArrayBuffer>, at: number) => number;
  /** In base64, padded. */
  readonly base64Of: (bytes: Uint8Array) => string;
  /** What well-formed base64 says, of either alphabet, padded or not; in memory of its own. */
  readonly fromBase64: (text: string) => Uint8Array<ArrayBuffer>;
  /** In hexadecimal, lower case. */
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
    // A copy: small buffers are slices of a pool, which would travel along when the bytes go to a worker.
    fromBase64: (text) => new Uint8Array(node.from(text, "base64")),
    hexOf: (bytes) => view(bytes).toString("hex"),
  };
}

/** Bytes whose characters are made in one call; more arguments may be too many. */
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
    const code = text.codePointAt(i) as number;
    if (code > 0x7f) length++;
    if (code > 0x7ff) length++;
    // Two units of UTF-16 are four bytes.
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

/** The least that pieces are copied into, in bytes. */
const LEAST = 1024;

const empty = new Uint8Array(0);

/**
 * Bytes that come in pieces, in one piece. A piece that comes alone is kept as it is; several are copied together, since an object for
 * each of them takes a hundred times as much where they are small.
 */
export class Gathered {
  #bytes: Uint8Array = empty;
  #begin = 0;
  #end = 0;
  /** True if the bytes are a copy, with room for more. */
  #isCopy = false;

  /** Number of bytes. */
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
    // Views that were handed out keep their bytes: the piece goes after them.
    this.#bytes.set(piece, this.#end);
    this.#end += piece.byteLength;
  }

  /** All that there is. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(this.#begin, this.#end);
  }

  /** Leaves out as many at the beginning. */
  drop(count: number): void {
    this.#begin += count;
    if (this.size === 0) this.clear();
  }

  clear(): void {
    this.#bytes = empty;
    this.#begin = this.#end = 0;
  }

  #grow(size: number): void {
    // Not a Buffer, which messages would keep for fields of bytes.
    const larger = new Uint8Array(Math.max(LEAST, 2 * size));
    larger.set(this.bytes);
    this.#end = this.size;
    this.#begin = 0;
    this.#bytes = larger;
    this.#isCopy = true;
  }
}
