/** Receives the body of a response as it arrives. */
export interface BodySink {
  body(bytes: Buffer): void;
  end(): void;
}

type State = "head" | "length" | "size" | "chunk" | "chunk-end" | "trailers";

const EMPTY = Buffer.alloc(0);

/**
 * Reads HTTP/1.1 responses, one after the other, with a length or in chunks. It knows only what the servers of this
 * bench send, and is fast: a load generator must not be slower than what it measures.
 */
export class ResponseReader {
  status = "";
  readonly #sink: BodySink;
  #state: State = "head";
  #held: Buffer = EMPTY;
  /** Bytes of body or chunk that are still to come. */
  #left = 0;

  constructor(sink: BodySink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = EMPTY;
    while (rest.length > 0) {
      const used = this.#step(rest);
      if (used === 0) {
        this.#held = rest;
        return;
      }
      rest = rest.subarray(used);
    }
  }

  /** Takes what it can from the front and returns how much; 0 when more has to arrive first. */
  #step(bytes: Buffer): number {
    switch (this.#state) {
      case "head":
        return this.#head(bytes);
      case "length":
      case "chunk":
        return this.#data(bytes);
      case "size":
        return this.#size(bytes);
      case "chunk-end":
        if (bytes.length < 2) return 0;
        this.#state = "size";
        return 2;
      case "trailers":
        return this.#trailers(bytes);
    }
  }

  #head(bytes: Buffer): number {
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0) return 0;
    const head = bytes.toString("latin1", 0, end);
    this.status = head.slice(9, 12);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#left = Number(length ?? 0);
    this.#state = length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head) ? "size" : "length";
    if (this.#state === "length" && this.#left === 0) this.#over();
    return end + 4;
  }

  #data(bytes: Buffer): number {
    const used = Math.min(bytes.length, this.#left);
    this.#left -= used;
    this.#sink.body(used === bytes.length ? bytes : bytes.subarray(0, used));
    if (this.#left > 0) return used;
    if (this.#state === "chunk") this.#state = "chunk-end";
    else this.#over();
    return used;
  }

  #size(bytes: Buffer): number {
    const end = bytes.indexOf("\r\n");
    if (end < 0) return 0;
    this.#left = Number.parseInt(bytes.toString("latin1", 0, end), 16);
    this.#state = this.#left === 0 ? "trailers" : "chunk";
    return end + 2;
  }

  #trailers(bytes: Buffer): number {
    const end = bytes.indexOf("\r\n");
    if (end < 0) return 0;
    if (end === 0) this.#over();
    return end + 2;
  }

  #over(): void {
    this.#state = "head";
    this.#sink.end();
  }
}
