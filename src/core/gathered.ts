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
