import { defined } from "../../core/members.js";

/** Numbers of the element types (`pg_type.oid`). */
const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;
const TEXT = 25;

/** Bytes before the elements of an array. */
const HEADER = 20;

/** Maximum length of a text that is encoded here. For short texts, a native call costs more. */
const SHORT = 64;

/** Reads the value of an element, undefined for NULL. */
export type Get<T> = (index: number) => T | undefined;

/**
 * Writes arrays in PostgreSQL's binary format, which the driver passes on as they are: the text format would escape
 * every value, and write bytes as hexadecimal digits. All arrays of a statement share one buffer, which the next
 * statement uses again; so a writer belongs to one statement at a time. An array without any value becomes NULL, which
 * `unnest` fills up with NULLs.
 */
export class ArrayWriter {
  #bytes: Buffer;
  #view: DataView;
  #at = 0;

  /** @param size bytes at first */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafeSlow(size);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Begins the next statement: earlier arrays are overwritten. */
  restart(): void {
    this.#at = 0;
  }

  texts(count: number, get: Get<string>): Buffer | null {
    let most = 0;
    let nulls = 0;
    for (let index = 0; index < count; index++) {
      const text = get(index);
      if (text === undefined) nulls++;
      // Bytes of UTF-8 for a unit of UTF-16.
      else most += text.length * 3;
    }
    if (nulls === count && count > 0) return null;
    const start = this.#begin(TEXT, count, nulls, most);
    for (let index = 0; index < count; index++) {
      const text = get(index);
      if (text === undefined) {
        this.#int32(-1);
        continue;
      }
      const size = this.#write(text, this.#at + 4);
      this.#int32(size);
      this.#at += size;
    }
    return this.#bytes.subarray(start, this.#at);
  }

  byteArrays(count: number, get: Get<Uint8Array>): Buffer | null {
    let most = 0;
    let nulls = 0;
    for (let index = 0; index < count; index++) {
      const bytes = get(index);
      if (bytes === undefined) nulls++;
      else most += bytes.length;
    }
    if (nulls === count && count > 0) return null;
    const start = this.#begin(BYTEA, count, nulls, most);
    for (let index = 0; index < count; index++) {
      const bytes = get(index);
      this.#int32(bytes === undefined ? -1 : bytes.length);
      if (bytes === undefined) continue;
      this.#bytes.set(bytes, this.#at);
      this.#at += bytes.length;
    }
    return this.#bytes.subarray(start, this.#at);
  }

  bigints(count: number, get: Get<number>): Buffer | null {
    return this.#fixed(INT8, 8, count, get, writeBigint);
  }

  integers(count: number, get: Get<number>): Buffer | null {
    return this.#fixed(INT4, 4, count, get, writeInteger);
  }

  smallints(count: number, get: Get<number>): Buffer | null {
    return this.#fixed(INT2, 2, count, get, writeSmallint);
  }

  booleans(count: number, get: Get<boolean>): Buffer | null {
    return this.#fixed(BOOL, 1, count, get, writeBoolean);
  }

  #fixed<T>(type: number, size: number, count: number, get: Get<T>, write: Write<T>): Buffer | null {
    let nulls = 0;
    for (let index = 0; index < count; index++) if (get(index) === undefined) nulls++;
    if (nulls === count && count > 0) return null;
    const start = this.#begin(type, count, nulls, count * size);
    for (let index = 0; index < count; index++) {
      const value = get(index);
      this.#int32(value === undefined ? -1 : size);
      if (value === undefined) continue;
      write(this.#view, this.#at, value);
      this.#at += size;
    }
    return this.#bytes.subarray(start, this.#at);
  }

  /** Writes the header of an array and returns its place. */
  #begin(type: number, count: number, nulls: number, most: number): number {
    const size = HEADER + 4 * count + most;
    // Earlier arrays keep the buffer that they are in.
    if (this.#at + size > this.#bytes.length) this.#grow(size);
    const start = this.#at;
    this.#int32(1);
    this.#int32(nulls > 0 ? 1 : 0);
    this.#int32(type);
    this.#int32(count);
    // The index of the first element.
    this.#int32(1);
    return start;
  }

  #grow(size: number): void {
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, 2 * size));
    this.#view = new DataView(this.#bytes.buffer);
    this.#at = 0;
  }

  #int32(value: number): void {
    this.#view.setInt32(this.#at, value);
    this.#at += 4;
  }

  /** Writes a text and returns its size. */
  #write(text: string, at: number): number {
    const { length } = text;
    if (length <= SHORT) {
      const bytes = this.#bytes;
      let index = 0;
      for (; index < length; index++) {
        const code = text.charCodeAt(index);
        if (code >= 0x80) break;
        bytes[at + index] = code;
      }
      if (index === length) return length;
    }
    return this.#bytes.write(text, at);
  }
}

type Write<T> = (view: DataView, at: number, value: T) => void;

/** Without BigInt, which costs an object for each number. */
function writeBigint(view: DataView, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  view.setInt32(at, high);
  view.setUint32(at + 4, value - high * 2 ** 32);
}

function writeInteger(view: DataView, at: number, value: number): void {
  view.setInt32(at, value);
}

function writeSmallint(view: DataView, at: number, value: number): void {
  view.setInt16(at, value);
}

function writeBoolean(view: DataView, at: number, value: boolean): void {
  view.setInt8(at, value ? 1 : 0);
}

export function texts(values: readonly string[]): Buffer {
  return one((writer) => writer.texts(values.length, (index) => values[index]));
}

export function bigints(values: readonly number[]): Buffer {
  return one((writer) => writer.bigints(values.length, (index) => values[index]));
}

export function smallints(values: readonly number[]): Buffer {
  return one((writer) => writer.smallints(values.length, (index) => values[index]));
}

function one(write: (writer: ArrayWriter) => Buffer | null): Buffer {
  return defined(write(new ArrayWriter(256)) ?? undefined);
}
